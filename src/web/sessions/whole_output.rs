//! The whole output of a tool call, as plain text.

use actix_web::{
    HttpResponse,
    http::header,
    web::{Bytes, Data},
};
use tokio::io::AsyncReadExt as _;

use crate::{
    app::App,
    domain::message::Part,
    store::entity::part::Model as PartRow,
    web::{error::Error, extract::Owned},
};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// `GET /parts/{id}/output`
pub async fn show(app: Data<App>, Owned(row): Owned<PartRow>) -> Result<HttpResponse, Error> {
    let Ok(Part::Tool(call)) = Part::read(&row.kind, row.data) else { return Err(Error::NotFound) };
    let mut answer = HttpResponse::Ok();
    answer
        .content_type("text/plain; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_DISPOSITION, "inline; filename=\"output.txt\""))
        // A command wrote it: it is text and nothing else, whatever it looks like.
        .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"));
    let spilled = app.engine.outputs_of(row.session_id).join(format!("{}.txt", row.id));
    match tokio::fs::File::open(&spilled).await {
        Ok(file) => Ok(answer.streaming(pieces(file))),
        Err(_) => Ok(answer.body(call.error.unwrap_or(call.output))),
    }
}

fn pieces(mut file: tokio::fs::File) -> impl futures_util::Stream<Item = std::io::Result<Bytes>> {
    async_stream::stream! {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            match (&mut file).take(PIECE as u64).read_to_end(&mut piece).await {
                Ok(0) => return,
                Ok(_) => yield Ok(Bytes::from(piece)),
                Err(err) => {
                    yield Err(err);
                    return;
                }
            }
        }
    }
}

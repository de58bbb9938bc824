//! Stand-in.
#[derive(Clone, Copy)]
pub enum Action {
    Allow,
}
impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("allow")
    }
}
pub struct Rule;
impl Rule {
    pub fn parse(_: &str, _: &str, _: Action) -> Result<Self, crate::domain::message::UnknownWord> {
        Ok(Self)
    }
}

//! Lists, a page at a time.

use std::{fmt::Display, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::error::Error;

/// A page of a list
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page; null at the end
    #[schema(required)]
    pub next: Option<String>,
}

/// Which page of a list is asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many items at most
    #[param(value_type = u64, minimum = 1, maximum = 200, default = 50)]
    pub limit: Option<String>,
    /// `next` of the page before
    #[param(value_type = String, max_length = 100)]
    pub cursor: Option<String>,
}

/// Items on a page, where nothing is asked for.
const DEFAULT: u64 = 50;
const MOST: u64 = 200;

impl PageQuery {
    /// Where the page begins and how long it is.
    pub fn bounds<Id: FromStr>(&self) -> Result<Bounds<Id>, Error> {
        let limit = match &self.limit {
            None => DEFAULT,
            Some(text) => match text.parse() {
                Ok(limit @ 1..=MOST) => limit,
                _ => return Err(Error::field("limit", "Give a number from 1 to 200.")),
            },
        };
        let after = match &self.cursor {
            None => None,
            Some(text) => match text.parse() {
                Ok(id) => Some(id),
                Err(_) => return Err(Error::field("cursor", "Give `next` of the page before.")),
            },
        };
        Ok(Bounds { after, limit })
    }
}

/// A page to be read from the store.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<Id> {
    /// The last row of the page before.
    pub after: Option<Id>,
    limit: u64,
}

impl<Id: Display> Bounds<Id> {
    /// How many rows to read: one more than fit, to know whether there are more.
    pub fn rows(&self) -> u64 {
        self.limit + 1
    }

    /// Makes the page of what was read.
    pub fn page<Row, T>(
        &self,
        mut rows: Vec<Row>,
        id: impl Fn(&Row) -> Id,
        item: impl FnMut(Row) -> T,
    ) -> Page<T> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| id(row).to_string());
        Page { items: rows.into_iter().map(item).collect(), next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_given_only_where_there_is_more() {
        let bounds = PageQuery { limit: Some("2".into()), cursor: None }.bounds::<u32>().unwrap();
        assert_eq!(bounds.rows(), 3);
        let page = bounds.page(vec![1, 2, 3], |row| *row, |row| row);
        assert_eq!((page.items, page.next), (vec![1, 2], Some("2".into())));
        let page = bounds.page(vec![1, 2], |row| *row, |row| row);
        assert_eq!((page.items, page.next), (vec![1, 2], None));
    }

    #[test]
    fn limits_outside_are_refused() {
        for limit in ["0", "201", "-1", "many", ""] {
            let query = PageQuery { limit: Some(limit.into()), cursor: None };
            assert!(query.bounds::<u32>().is_err(), "{limit}");
        }
    }
}

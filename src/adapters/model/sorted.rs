//! JSON whose bytes are the same each time.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A value that is written with its keys in order, however a database gave them back.
pub(super) struct Sorted<'a>(pub &'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> = fields.iter().map(|(k, v)| (k, Sorted(v))).collect();
                serializer.collect_map(fields)
            }
            Value::Array(values) => serializer.collect_seq(values.iter().map(Sorted)),
            plain => plain.serialize(serializer),
        }
    }
}

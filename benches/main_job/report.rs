//! What was measured, beside what it must be.

/// The rows of the table, and how much was measured.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    counts: Vec<String>,
}

struct Row {
    name: String,
    value: f64,
    limit: Option<f64>,
    unit: &'static str,
}

impl Report {
    /// A value that has a limit.
    pub fn at_most(&mut self, name: &str, value: f64, limit: f64, unit: &'static str) {
        self.rows.push(Row { name: name.to_owned(), value, limit: Some(limit), unit });
    }

    /// A value that helps to understand the others.
    pub fn noted(&mut self, name: &str, value: f64, unit: &'static str) {
        self.rows.push(Row { name: name.to_owned(), value, limit: None, unit });
    }

    /// How many of something the values above are taken from.
    pub fn counted(&mut self, count: usize, of: &str) {
        self.counts.push(format!("{count} {of}"));
    }

    /// Whether every limit is kept.
    pub fn is_met(&self) -> bool {
        self.rows.iter().all(Row::is_met)
    }

    pub fn print(&self) {
        let widest = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        println!("{:widest$}  {:>11}  {:>9}  {:>8}", "", "measured", "limit", "of it");
        for row in &self.rows {
            let Row { name, value, limit, unit } = row;
            let value_text = format!("{value:.2} {unit}");
            match limit {
                Some(limit) => {
                    let limit_text = format!("{limit} {unit}");
                    let share = value / limit * 100.0;
                    let verdict = if row.is_met() { "" } else { "  missed" };
                    println!(
                        "{name:widest$}  {value_text:>11}  {limit_text:>9}  {share:>6.0} %{verdict}"
                    );
                }
                None => println!("{name:widest$}  {value_text:>11}"),
            }
        }
        println!("\nFrom {}.", self.counts.join(", "));
    }
}

impl Row {
    fn is_met(&self) -> bool {
        self.limit.is_none_or(|limit| self.value < limit)
    }
}

pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// The value below which such a share of all lies; of nothing it is no number.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

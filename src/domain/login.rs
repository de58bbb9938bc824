//! What people sign in with.

/// A login: what a person types to sign in. Letters of any case, but unique without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("Give a login of 2 to 40 characters.")]
    Length,
    #[error(
        "A login has letters, digits, dots, hyphens and underscores, and starts with a letter or digit."
    )]
    Characters,
}

impl Login {
    pub fn parse(text: &str) -> Result<Self, LoginError> {
        let text = text.trim();
        if !(2..=40).contains(&text.len()) {
            return Err(LoginError::Length);
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !text.chars().all(fits) || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(LoginError::Characters);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What must be unique among logins.
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

/// An e-mail address that looks like one; whether it exists only a mail can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("That is not an e-mail address. It should look like name@example.org.")]
pub struct EmailError;

impl Email {
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        let text = text.trim();
        let (local, domain) = text.rsplit_once('@').ok_or(EmailError)?;
        let plain = |c: char| {
            !c.is_whitespace()
                && !c.is_control()
                && !matches!(c, '<' | '>' | ',' | ';' | ':' | '"' | '@')
        };
        let fits = text.len() <= 254
            && !local.is_empty()
            && local.len() <= 64
            && text.chars().filter(|c| *c != '@').all(plain)
            && !local.contains('@')
            && domain.contains('.')
            && domain.split('.').all(|label| !label.is_empty());
        if fits { Ok(Self(text.to_owned())) } else { Err(EmailError) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

/// The shortest password, in characters.
pub const PASSWORD_MIN: usize = 10;
/// The longest, in bytes: hashing time grows with it.
pub const PASSWORD_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("Use at least {PASSWORD_MIN} characters.")]
    Short,
    #[error("Keep the password under {PASSWORD_MAX} bytes.")]
    Long,
    #[error("That is one of the passwords that are tried first. Choose another.")]
    Common,
}

/// Whether a password may be chosen: long enough and not among the common ones.
pub fn check_password(password: &str) -> Result<(), PasswordError> {
    if password.chars().count() < PASSWORD_MIN {
        return Err(PasswordError::Short);
    }
    if password.len() > PASSWORD_MAX {
        return Err(PasswordError::Long);
    }
    let folded = password.to_lowercase();
    let mut letters = folded.chars();
    let first = letters.next();
    if letters.all(|c| Some(c) == first) || COMMON.contains(&folded.as_str()) || is_run(&folded) {
        return Err(PasswordError::Common);
    }
    Ok(())
}

/// Whether it is one ascending or repeating run, such as `1234567890` or `abcabcabcabc`.
fn is_run(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ascending = bytes
        .windows(2)
        .all(|pair| pair[1] == pair[0].wrapping_add(1) || (pair[0] == b'9' && pair[1] == b'0'));
    let repeated = (1..=4).any(|period| bytes.iter().skip(period).zip(bytes).all(|(a, b)| a == b));
    ascending || repeated
}

/// Passwords of at least ten characters that stand high in every list of leaked ones.
const COMMON: &[&str] = &[
    "password12",
    "password123",
    "password1234",
    "password!1",
    "passw0rd123",
    "passwordpassword",
    "qwertyuiop",
    "qwerty12345",
    "qwerty123456",
    "qwertyuiop123",
    "1q2w3e4r5t",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "0123456789",
    "9876543210",
    "0987654321",
    "iloveyou12",
    "iloveyou123",
    "letmein123",
    "letmein1234",
    "welcome123",
    "welcome1234",
    "administrator",
    "changeme123",
    "admin12345",
    "admin123456",
    "adminadmin",
    "football123",
    "baseball123",
    "superman123",
    "trustno1trustno1",
    "sunshine123",
    "princess123",
    "dragon12345",
    "monkey12345",
    "abc1234567",
    "abcd123456",
    "asdfghjkl;",
    "asdfghjkl1",
    "zaq12wsxcde3",
    "q1w2e3r4t5",
    "q1w2e3r4t5y6",
    "secret1234",
    "mypassword",
    "mypassword1",
    "thisisapassword",
    "correcthorsebatterystaple",
    "default123",
    "testtest123",
    "test123456",
    "google1234",
    "computer123",
    "internet123",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_told_apart_without_case() {
        assert_eq!(Login::parse(" Ada ").unwrap().key(), "ada");
        assert_eq!(Login::parse("a"), Err(LoginError::Length));
        assert_eq!(Login::parse("-ada"), Err(LoginError::Characters));
        assert_eq!(Login::parse("аda"), Err(LoginError::Characters), "a Cyrillic letter");
    }

    #[test]
    fn addresses_that_smuggle_are_refused() {
        assert!(Email::parse("ada@example.org").is_ok());
        for bad in ["ada", "a@b", "a@x.org\nbcc:b@y.org", "a@x.org,b@y.org", "@x.org", "a@b@x.org"]
        {
            assert_eq!(Email::parse(bad), Err(EmailError), "{bad}");
        }
    }

    #[test]
    fn common_passwords_are_refused() {
        assert_eq!(check_password("short"), Err(PasswordError::Short));
        assert_eq!(check_password("Password123"), Err(PasswordError::Common));
        assert_eq!(check_password("aaaaaaaaaaaa"), Err(PasswordError::Common));
        assert_eq!(check_password("1234567890"), Err(PasswordError::Common));
        assert_eq!(check_password("abcabcabcabc"), Err(PasswordError::Common));
        assert_eq!(check_password("correct horse"), Ok(()));
    }
}

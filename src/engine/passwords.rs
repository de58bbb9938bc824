//! Hashing passwords with argon2id, off the threads that answer requests, a few at a time.

use std::sync::Arc;

use anyhow::Context as _;
use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version,
    password_hash::phc::PasswordHash,
};
use tokio::sync::Semaphore;

use crate::config::Accounts;

/// Hashes and checks passwords. Cheap to clone.
#[derive(Clone)]
pub struct Passwords {
    memory_kib: u32,
    passes: u32,
    /// Each hash takes its memory only with a permit, so a burst of sign-ins cannot take it all.
    permits: Arc<Semaphore>,
}

/// What came of checking a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Wrong,
    Right,
    /// Right, and hashed with other parameters than those of today: here is a new hash.
    Outdated(String),
}

impl Passwords {
    pub fn new(config: &Accounts) -> Self {
        Self {
            memory_kib: config.argon2_memory_kib,
            passes: config.argon2_passes,
            permits: Arc::new(Semaphore::new(config.argon2_at_once)),
        }
    }

    /// Hashes a password with a fresh salt.
    pub async fn hash(&self, password: String) -> anyhow::Result<String> {
        let params = self.params()?;
        self.apart(move || hash(&password, params)).await
    }

    /// Checks a password against a stored hash.
    ///
    /// Without a hash, because nobody has that login or no password was set, it takes as long and
    /// says wrong.
    pub async fn verify(
        &self,
        password: String,
        stored: Option<String>,
    ) -> anyhow::Result<Verdict> {
        let params = self.params()?;
        let nobody = self.nobody();
        self.apart(move || {
            let stored = stored.filter(|stored| !stored.is_empty());
            let known = stored.is_some();
            let stored = stored.unwrap_or(nobody);
            let parsed = PasswordHash::new(&stored).context("reading a stored hash")?;
            let right = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
            if !known || !right {
                return Ok(Verdict::Wrong);
            }
            let used = Params::try_from(&parsed).context("reading a stored hash")?;
            let same = parsed.algorithm.as_str() == Algorithm::Argon2id.as_str()
                && used.m_cost() == params.m_cost()
                && used.t_cost() == params.t_cost()
                && used.p_cost() == params.p_cost();
            if same { Ok(Verdict::Right) } else { Ok(Verdict::Outdated(hash(&password, params)?)) }
        })
        .await
    }

    fn params(&self) -> anyhow::Result<Params> {
        Params::new(self.memory_kib, self.passes, 1, None).context("accounts.argon2_*")
    }

    /// A hash that no password has, with the parameters of today.
    fn nobody(&self) -> String {
        let (salt, hash) = ("A".repeat(22), "A".repeat(43));
        format!("$argon2id$v=19$m={},t={},p=1${salt}${hash}", self.memory_kib, self.passes)
    }

    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        // The permit goes along: the memory is in use until the work ends, even if nobody waits.
        let permit = Arc::clone(&self.permits).acquire_owned().await?;
        let job = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        job.await.context("hashing")?
    }
}

fn hash(password: &str, params: Params) -> anyhow::Result<String> {
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    Ok(argon2.hash_password(password.as_bytes()).context("hashing")?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passwords(memory_kib: u32) -> Passwords {
        Passwords::new(&Accounts {
            argon2_memory_kib: memory_kib,
            argon2_passes: 1,
            ..Accounts::default()
        })
    }

    #[tokio::test]
    async fn only_the_password_that_was_hashed_is_right() {
        let passwords = passwords(8);
        let hash = passwords.hash("correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=8,t=1,p=1$"), "{hash}");
        let check = |word: &str| passwords.verify(word.into(), Some(hash.clone()));
        assert_eq!(check("correct horse").await.unwrap(), Verdict::Right);
        assert_eq!(check("correct house").await.unwrap(), Verdict::Wrong);
    }

    #[tokio::test]
    async fn a_login_that_nobody_has_is_wrong() {
        assert_eq!(passwords(8).verify(String::new(), None).await.unwrap(), Verdict::Wrong);
    }

    #[tokio::test]
    async fn a_hash_with_other_parameters_is_made_anew() {
        let old = passwords(8).hash("correct horse".into()).await.unwrap();
        let today = passwords(16);
        let verdict = today.verify("correct horse".into(), Some(old)).await.unwrap();
        let Verdict::Outdated(new) = verdict else { panic!("{verdict:?}") };
        let again = today.verify("correct horse".into(), Some(new)).await.unwrap();
        assert_eq!(again, Verdict::Right);
    }
}

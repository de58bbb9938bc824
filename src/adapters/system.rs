//! Randomness from the operating system.

use crate::domain::ids::Entropy;

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn bits(&self) -> u128 {
        let mut bytes = [0; 16];
        fill(&mut bytes);
        u128::from_be_bytes(bytes)
    }
}

/// Fills the bytes with fresh random ones.
///
/// Panics when the operating system has none: ids, tokens and nonces that can be guessed are worse
/// than none.
pub fn fill(bytes: &mut [u8]) {
    if let Err(err) = getrandom::fill(bytes) {
        panic!("the operating system gives no random bytes: {err}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_draws_are_the_same() {
        assert_ne!(SystemEntropy.bits(), SystemEntropy.bits());
        assert_ne!(SystemEntropy.bytes(), SystemEntropy.bytes());
    }
}

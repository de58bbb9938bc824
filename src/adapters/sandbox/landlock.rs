//! The files that a confined command may touch, as the kernel enforces them by path.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus,
    Scope,
};

use super::{
    Mode,
    command::Network,
    policy::Policy,
    view::{DEVICES, SYSTEM},
};

type Error = Box<dyn std::error::Error>;

/// What is asked of the kernel as far as it has it.
const NEWEST: ABI = ABI::V10;
/// What it must have when nothing else keeps files apart: up to truncation.
const LEAST: ABI = ABI::V3;

/// From here on it can say which port may be connected to.
pub(super) const DOORS: ABI = ABI::V4;

/// A rule set that is ready to be entered.
pub(super) struct Rules {
    rules: RulesetCreated,
    mode: Mode,
}

impl Rules {
    /// The rules for a command whose private folder is `private`.
    ///
    /// Inside a view of namespaces they are a second wall and as strong as the kernel lets them
    /// be; alone they must be complete.
    pub(super) fn new(policy: &Policy, private: &Path) -> Result<Self, Error> {
        let must = match policy.mode {
            Mode::Namespaces => CompatLevel::BestEffort,
            Mode::Landlock | Mode::Off => CompatLevel::HardRequirement,
        };
        let mut rules = Ruleset::default()
            .set_compatibility(must)
            .handle_access(AccessFs::from_all(LEAST))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
        if policy.mode != Mode::Namespaces && policy.network != Network::On {
            // With a door sockets can be made, and these rules alone say where they lead.
            let must = match policy.network {
                Network::Door => CompatLevel::HardRequirement,
                Network::Off | Network::On => CompatLevel::BestEffort,
            };
            rules = rules
                .set_compatibility(must)
                .handle_access(AccessNet::from_all(DOORS))?
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessNet::from_all(NEWEST))?;
        }
        let mut rules = rules.create()?;
        if let (Some(port), Network::Door) = (policy.door, policy.network) {
            rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }

        let read = AccessFs::from_read(NEWEST);
        let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
        if policy.mode == Mode::Namespaces {
            // Everything in the view was put there on purpose.
            rules = allow(rules, Path::new("/"), read)?;
            rules = allow(rules, Path::new("/dev/shm"), write)?;
        } else {
            for path in SYSTEM.iter().map(Path::new) {
                rules = allow(rules, path, read)?;
            }
            // The environment and memory of others need the right to trace them, which ends at
            // the border of a Landlock domain.
            rules = allow(rules, Path::new("/proc"), AccessFs::ReadFile | AccessFs::ReadDir)?;
        }
        for path in &policy.readable {
            rules = allow(rules, path, read)?;
        }
        for path in policy.writable.iter().map(PathBuf::as_path).chain([private]) {
            rules = allow(rules, path, write)?;
        }
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        for path in DEVICES.iter().map(Path::new) {
            rules = allow(rules, path, device)?;
        }
        Ok(Self { rules, mode: policy.mode })
    }

    /// Confines this process and all its children, for good. The answer is the version of the
    /// kernel's interface, 0 where there is none.
    pub(super) fn enter(self) -> Result<u8, Error> {
        let status = self.rules.restrict_self()?;
        let enforced = status.ruleset != RulesetStatus::NotEnforced;
        if !enforced && self.mode != Mode::Namespaces {
            return Err("Landlock did not take effect".into());
        }
        Ok(match status.landlock {
            LandlockStatus::Available { effective_abi, .. } if enforced => effective_abi as u8,
            _ => 0,
        })
    }
}

/// Adds a path; one that is not there has nothing to allow.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Error> {
    let Ok(handle) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    Ok(rules.add_rule(PathBeneath::new(handle, access))?)
}

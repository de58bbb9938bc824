//! One turn of an agent: told what has happened, it says what to do next.
//!
//! The turn does nothing itself. The runner carries out its orders and reports back, so that a
//! slow model, an impatient person and a restart in the middle are all just things to hear about.
//!
//! The calls of a reply are settled in order: calls that only read run side by side, a call that
//! changes something runs alone, after all before it and before all after it.

mod circles;

use self::circles::Circles;

/// What a call may do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Changes,
}

/// What the permission gate says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Allow,
    Ask,
    Deny,
}

/// A call of a reply, reduced to what its order depends on. Calls are known by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    pub effect: Effect,
    pub gate: Gate,
    /// A hash of the tool and its input: the same call has the same.
    pub signature: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The model finished a reply and wants these calls made.
    Reply(Vec<Planned>),
    /// A person decided on a call they were asked about.
    Decided { call: usize, allowed: bool },
    /// A call ran to its end, well or badly. `result` is a hash of what came of it.
    Ran { call: usize, result: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    CallModel,
    /// The steps have run out: the model is asked to sum up, without tools.
    SumUp,
    Run(usize),
    /// Ask a person; `repeated` where it is not the rules that ask, but that the agent goes in
    /// circles.
    Ask {
        call: usize,
        repeated: bool,
    },
    Refuse(usize),
    Stop(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Done,
    /// A limit was reached, and the model has summed up.
    Limit,
    /// The agent goes in circles, and was asked about that before.
    Circles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Asked,
    Running,
    Settled,
}

pub struct Turn {
    steps_left: u32,
    summing_up: bool,
    calls: Vec<(Effect, State)>,
    circles: Circles,
    /// The numbers of the calls in the circles.
    numbers: Vec<usize>,
    /// Whether a person was asked about a circle in this turn.
    circled: bool,
}

impl Turn {
    /// A turn that may call the model so many times.
    pub fn new(step_limit: u32) -> Self {
        Self {
            steps_left: step_limit,
            summing_up: false,
            calls: Vec::new(),
            circles: Circles::default(),
            numbers: Vec::new(),
            circled: false,
        }
    }

    /// What to do first.
    pub fn start(&mut self) -> Vec<Order> {
        vec![self.next_step()]
    }

    /// Goes on in the middle of a reply, after a restart: `open` calls wait for a person, all
    /// others are settled.
    pub fn resume(&mut self, calls: &[Effect], open: &[usize]) -> Vec<Order> {
        self.calls = calls.iter().map(|effect| (*effect, State::Settled)).collect();
        for call in open {
            if let Some((_, state)) = self.calls.get_mut(*call) {
                *state = State::Asked;
            }
        }
        self.advance(Vec::new())
    }

    /// Takes note of what happened and answers with what to do about it.
    ///
    /// News about a call that is not open is old news, and changes nothing.
    pub fn hear(&mut self, heard: Heard) -> Vec<Order> {
        match heard {
            Heard::Reply(calls) if calls.is_empty() || self.summing_up => {
                let reason = if self.summing_up { Reason::Limit } else { Reason::Done };
                vec![Order::Stop(reason)]
            }
            Heard::Reply(calls) => self.admit(&calls),
            Heard::Decided { call, allowed } => {
                if self.state(call) != Some(State::Asked) {
                    return Vec::new();
                }
                if allowed {
                    self.set(call, State::Ready);
                    self.advance(Vec::new())
                } else {
                    self.set(call, State::Settled);
                    self.advance(vec![Order::Refuse(call)])
                }
            }
            Heard::Ran { call, result } => {
                if self.state(call) != Some(State::Running) {
                    return Vec::new();
                }
                if let Some(number) = self.numbers.get(call) {
                    self.circles.came_of(*number, result);
                }
                self.set(call, State::Settled);
                self.advance(Vec::new())
            }
        }
    }

    fn admit(&mut self, calls: &[Planned]) -> Vec<Order> {
        let mut orders = Vec::new();
        self.calls.clear();
        self.numbers.clear();
        for (index, call) in calls.iter().enumerate() {
            let (number, repeated) = self.circles.note(call.signature);
            self.numbers.push(number);
            if repeated && std::mem::replace(&mut self.circled, true) {
                return vec![Order::Stop(Reason::Circles)];
            }
            let state = match call.gate {
                Gate::Deny => {
                    orders.push(Order::Refuse(index));
                    State::Settled
                }
                Gate::Ask => {
                    orders.push(Order::Ask { call: index, repeated });
                    State::Asked
                }
                Gate::Allow if repeated => {
                    orders.push(Order::Ask { call: index, repeated });
                    State::Asked
                }
                Gate::Allow => State::Ready,
            };
            self.calls.push((call.effect, state));
        }
        self.advance(orders)
    }

    /// The next reply is the last: a limit of the run is reached, and the model is to sum up.
    pub fn sum_up(&mut self) {
        self.steps_left = 0;
        self.summing_up = true;
    }

    /// Starts what can start now; goes back to the model once every call is settled.
    fn advance(&mut self, mut orders: Vec<Order>) -> Vec<Order> {
        let mut all_before_settled = true;
        for (index, (effect, state)) in self.calls.iter_mut().enumerate() {
            let blocks = match (*effect, *state) {
                (_, State::Settled) => false,
                (Effect::Reads, State::Ready) => {
                    *state = State::Running;
                    orders.push(Order::Run(index));
                    false
                }
                (Effect::Changes, State::Ready) => {
                    if all_before_settled {
                        *state = State::Running;
                        orders.push(Order::Run(index));
                    }
                    true
                }
                (Effect::Reads, State::Running | State::Asked) => false,
                (Effect::Changes, State::Running | State::Asked) => true,
            };
            all_before_settled &= *state == State::Settled;
            if blocks {
                break;
            }
        }
        if self.calls.iter().all(|(_, state)| *state == State::Settled) {
            orders.push(self.next_step());
        }
        orders
    }

    fn next_step(&mut self) -> Order {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Order::CallModel
            }
            None => {
                self.summing_up = true;
                Order::SumUp
            }
        }
    }

    fn state(&self, call: usize) -> Option<State> {
        self.calls.get(call).map(|(_, state)| *state)
    }

    fn set(&mut self, call: usize, to: State) {
        if let Some((_, state)) = self.calls.get_mut(call) {
            *state = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reply_without_calls_ends_the_turn() {
        assert_eq!(Turn::new(9).hear(Heard::Reply(vec![])), [Order::Stop(Reason::Done)]);
    }

    #[test]
    fn reads_run_side_by_side_and_changes_alone() {
        let mut turn = started(9);
        let orders = turn.hear(Heard::Reply(vec![read(1), read(2), change(3), read(4)]));
        assert_eq!(orders, [Order::Run(0), Order::Run(1)]);
        assert_eq!(turn.hear(Heard::Ran { call: 0, result: 0 }), []);
        assert_eq!(turn.hear(Heard::Ran { call: 1, result: 0 }), [Order::Run(2)]);
        assert_eq!(turn.hear(Heard::Ran { call: 2, result: 0 }), [Order::Run(3)]);
        assert_eq!(turn.hear(Heard::Ran { call: 3, result: 0 }), [Order::CallModel]);
    }

    #[test]
    fn the_model_is_called_again_only_when_every_call_is_settled() {
        let mut turn = started(9);
        let asked = Planned { gate: Gate::Ask, ..change(2) };
        let orders = turn.hear(Heard::Reply(vec![read(1), asked]));
        assert_eq!(orders, [Order::Ask { call: 1, repeated: false }, Order::Run(0)]);
        assert_eq!(turn.hear(Heard::Ran { call: 0, result: 0 }), []);
        let decided = turn.hear(Heard::Decided { call: 1, allowed: false });
        assert_eq!(decided, [Order::Refuse(1), Order::CallModel]);
    }

    #[test]
    fn a_denied_call_is_refused_without_asking() {
        let denied = Planned { gate: Gate::Deny, ..change(1) };
        let orders = started(9).hear(Heard::Reply(vec![denied]));
        assert_eq!(orders, [Order::Refuse(0), Order::CallModel]);
    }

    #[test]
    fn old_news_changes_nothing() {
        let mut turn = started(9);
        turn.hear(Heard::Reply(vec![read(1)]));
        assert_eq!(turn.hear(Heard::Ran { call: 0, result: 0 }), [Order::CallModel]);
        assert_eq!(turn.hear(Heard::Ran { call: 0, result: 0 }), []);
        assert_eq!(turn.hear(Heard::Decided { call: 7, allowed: true }), []);
    }

    #[test]
    fn when_the_steps_run_out_the_model_sums_up_once() {
        let mut turn = started(1);
        turn.hear(Heard::Reply(vec![read(1)]));
        assert_eq!(turn.hear(Heard::Ran { call: 0, result: 0 }), [Order::SumUp]);
        assert_eq!(turn.hear(Heard::Reply(vec![])), [Order::Stop(Reason::Limit)]);
    }

    #[test]
    fn the_same_call_three_times_in_a_row_is_asked_about() {
        let mut turn = started(9);
        for _ in 0..2 {
            assert_eq!(turn.hear(Heard::Reply(vec![read(7)])), [Order::Run(0)]);
            turn.hear(Heard::Ran { call: 0, result: 0 });
        }
        let orders = turn.hear(Heard::Reply(vec![read(7)]));
        assert_eq!(orders, [Order::Ask { call: 0, repeated: true }]);
    }

    #[test]
    fn an_agent_that_goes_on_in_circles_is_stopped() {
        let mut turn = started(99);
        let mut stopped = None;
        for step in 0..9 {
            let orders = turn.hear(Heard::Reply(vec![read(7)]));
            match orders[..] {
                [Order::Run(0)] => drop(turn.hear(Heard::Ran { call: 0, result: 0 })),
                [Order::Ask { call: 0, repeated: true }] => {
                    assert_eq!(
                        turn.hear(Heard::Decided { call: 0, allowed: true }),
                        [Order::Run(0)]
                    );
                    turn.hear(Heard::Ran { call: 0, result: 0 });
                }
                [Order::Stop(Reason::Circles)] => {
                    stopped = Some(step);
                    break;
                }
                _ => panic!("{orders:?}"),
            }
        }
        assert_eq!(stopped, Some(5));
    }

    #[test]
    fn a_call_whose_result_changes_is_no_circle() {
        let mut turn = started(99);
        for result in 0..9 {
            assert_eq!(turn.hear(Heard::Reply(vec![read(7)])), [Order::Run(0)]);
            turn.hear(Heard::Ran { call: 0, result });
        }
    }

    #[test]
    fn after_a_restart_the_open_calls_still_wait() {
        let mut turn = Turn::new(9);
        assert_eq!(turn.resume(&[Effect::Reads, Effect::Changes], &[1]), []);
        assert_eq!(turn.hear(Heard::Decided { call: 1, allowed: true }), [Order::Run(1)]);
        assert_eq!(turn.hear(Heard::Ran { call: 1, result: 0 }), [Order::CallModel]);
    }

    proptest! {
        #[test]
        fn every_call_is_settled_exactly_once_and_changes_run_alone(
            calls in prop::collection::vec((any::<bool>(), 0..3u8, any::<bool>()), 1..8),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 64),
        ) {
            let planned: Vec<_> = calls.iter().enumerate().map(|(index, (reads, gate, _))| Planned {
                effect: if *reads { Effect::Reads } else { Effect::Changes },
                gate: [Gate::Allow, Gate::Ask, Gate::Deny][usize::from(*gate)],
                signature: index as u64,
            }).collect();
            let mut turn = started(9);
            let (mut running, mut asked, mut settled) = (Vec::new(), Vec::new(), Vec::new());
            let mut orders = turn.hear(Heard::Reply(planned.clone()));
            let mut picks = picks.into_iter();
            loop {
                let mut over = false;
                for order in orders {
                    match order {
                        Order::Run(call) => running.push(call),
                        Order::Ask { call, .. } => asked.push(call),
                        Order::Refuse(call) => settled.push(call),
                        Order::CallModel => over = true,
                        other => prop_assert!(false, "{other:?}"),
                    }
                }
                if running.iter().any(|call| planned[*call].effect == Effect::Changes) {
                    prop_assert_eq!(running.len(), 1);
                }
                if over { break; }
                let pick = picks.next().unwrap();
                orders = if !running.is_empty() && (asked.is_empty() || pick.index(2) == 0) {
                    let call = running.swap_remove(pick.index(running.len()));
                    settled.push(call);
                    turn.hear(Heard::Ran { call, result: 0 })
                } else {
                    let call = asked.swap_remove(pick.index(asked.len()));
                    turn.hear(Heard::Decided { call, allowed: calls[call].2 })
                };
            }
            settled.sort_unstable();
            prop_assert_eq!(settled, (0..planned.len()).collect::<Vec<_>>());
        }
    }

    fn started(step_limit: u32) -> Turn {
        let mut turn = Turn::new(step_limit);
        assert_eq!(turn.start(), [Order::CallModel]);
        turn
    }

    fn read(signature: u64) -> Planned {
        Planned { effect: Effect::Reads, gate: Gate::Allow, signature }
    }

    fn change(signature: u64) -> Planned {
        Planned { effect: Effect::Changes, ..read(signature) }
    }
}

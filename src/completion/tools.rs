//! Which call a fragment belongs to, and when a call is complete.
//!
//! A call's number in its choice, in order of arrival, is its slot. `""` and null are absent everywhere.
//!
//! | the fragment has | its slot is |
//! |---|---|
//! | an index that was seen | the last one of that index |
//! | no such index, but an id that was seen | that id's |
//! | an index or an id that was not seen | a new one |
//! | neither | the last one; a new one if there is none |
//!
//! Each entry in the list of a whole message is a call of its own.
//!
//! In that slot it opens a new call all the same if
//!
//! | the id | and |
//! |---|---|
//! | is another one | there is a name (unless it is the same name, and the arguments are begun and not whole) |
//! | or the slot's is absent | there is a name, and the arguments are whole and others follow, or begun and the name differs |
//!
//! A call is complete, once, and frozen then:
//!
//! | the call | at the choice's finish reason | at `[DONE]` or a clean end |
//! |---|---|---|
//! | function, arguments a whole object or list with members | complete | complete |
//! | function, arguments blank (see below), `{}` or `[]` | waits: it may be a placeholder | complete |
//! | function, arguments anything else | - | never |
//! | custom | waits: free text has no end | complete, but never where the reason is `length` |
//! | without a name, or its text cut by a limit | - | never |
//!
//! Blank arguments where the reason is `length` never complete: they may be what was cut off. Nothing completes at a
//! truncated end.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::vec::Vec;

use super::fragment::Fragment;
use super::ledger::Ledger;
use super::merge::merge_fields;
use super::types::{CustomCall, Message, ToolCall};
use super::whole::Scan;
use crate::chunk::{FinishReason, FunctionDelta, Halves, ToolCallDelta};
use crate::{Deviation, Limit};

/// The calls of one choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools {
    slots: Vec<Slot>,
    /// The last slot of each index.
    by_index: Vec<(u32, u32)>,
    last: Last,
}

/// Where a fragment without index and id belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nowhere,
    Slot(u32),
    /// To a call that was skipped: it must not be merged into another one.
    Skipped,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    place: Place,
    /// What the calls are sorted by, before the order of arrival.
    index: u32,
    scan: Scan,
    is_complete: bool,
    /// Text is missing: it would have gone over a limit.
    is_cut: bool,
    /// The high half of a surrogate pair that the arguments end with; 0 if none.
    high: u16,
    /// A complete legacy call, as a tool call.
    legacy: Option<Box<ToolCall>>,
}

/// Where the call is in its message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    FunctionCall,
    ToolCall(usize),
}

impl Tools {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a fragment of a tool call, or a whole one of a whole message, to the message, and writes its slot into it.
    pub(super) fn add(
        &mut self,
        message: &mut Message,
        delta: &mut ToolCallDelta,
        is_whole: bool,
        ledger: &mut Ledger,
    ) -> Result<(), Limit> {
        delta.slot = None;
        let slot = self.add_fragment(message, &Fragment::of_tool_call(delta, is_whole), ledger)?;
        delta.slot = slot;
        let place = slot
            .and_then(|slot| self.slots.get(slot as usize))
            .map(|slot| slot.place);
        if let Some(Place::ToolCall(at)) = place {
            if let Some(call) = message.tool_calls.get_mut(at) {
                ledger.keep_first(&mut call.r#type, &delta.r#type);
                merge_fields(&mut call.extra, &delta.extra, ledger);
            }
        }
        Ok(())
    }

    /// Adds arguments to a call that is known by its index. False, and nothing is done, if there is more to be considered.
    pub(super) fn add_arguments(
        &mut self,
        message: &mut Message,
        delta: &mut ToolCallDelta,
        ledger: &mut Ledger,
    ) -> bool {
        let Some(at) = delta.index.and_then(|index| self.by_index(index)) else {
            return false;
        };
        let (Some(slot), Some(new)) = (self.slots.get_mut(at as usize), &delta.function) else {
            return false;
        };
        let Place::ToolCall(place) = slot.place else {
            return false;
        };
        let (Some(call), Some(new)) = (message.tool_calls.get_mut(place), &new.arguments) else {
            return false;
        };
        let arguments = &mut call.function.arguments;
        // Neither a placeholder may be there, nor the same once more.
        let is_more = arguments.len() > new.len().max("{}".len());
        if slot.is_complete || slot.high != 0 || call.custom.is_some() || !is_more {
            return false;
        }
        slot.is_cut |= !ledger.append(arguments, new, Halves::default(), &mut slot.high);
        self.last = Last::Slot(at);
        delta.slot = Some(at);
        true
    }

    /// Adds a fragment of a legacy function call.
    pub(super) fn add_legacy(
        &mut self,
        message: &mut Message,
        delta: &FunctionDelta,
        ledger: &mut Ledger,
    ) -> Result<(), Limit> {
        self.add_fragment(message, &Fragment::of_function_call(delta), ledger)
            .map(|_| ())
    }

    /// A fragment of this choice was skipped before it came here.
    pub(super) fn skipped(&mut self) {
        self.last = Last::Skipped;
    }

    fn add_fragment(
        &mut self,
        message: &mut Message,
        fragment: &Fragment<'_>,
        ledger: &mut Ledger,
    ) -> Result<Option<u32>, Limit> {
        let known = match self.find(message, fragment) {
            Some(Last::Slot(slot)) => Some(slot),
            Some(_) => return Ok(None),
            None => None,
        };
        let opens = known.is_none_or(|slot| self.opens(slot, message, fragment, ledger));
        if opens && known.is_some() {
            if fragment.is_legacy {
                // There is one legacy call in a message.
                ledger.note(Deviation::ToolFragmentLate);
                return Ok(None);
            }
            ledger.note(Deviation::ToolIndexReused);
        }
        let slot = match known {
            Some(slot) if !opens => slot,
            _ => {
                let slot = self.open(message, fragment, ledger);
                if slot.is_err() {
                    self.last = Last::Skipped;
                }
                slot?
            }
        };
        if let Some(index) = fragment.index {
            if let Some(entry) = self.by_index.iter_mut().find(|(seen, _)| *seen == index) {
                entry.1 = slot;
            } else if self.by_index.len() < ledger.max_tool_calls {
                // With more indices than calls there may be it is still found by its id.
                self.by_index.push((index, slot));
            }
        }
        self.last = Last::Slot(slot);
        let Some(state) = self.slots.get_mut(slot as usize) else {
            return Ok(None);
        };
        if state.is_complete {
            if fragment.name.is_some() || !fragment.arguments.is_empty() {
                ledger.note(Deviation::ToolFragmentLate);
            }
            return Ok(None);
        }
        state.write(message, fragment, opens, ledger);
        Ok(Some(slot))
    }

    /// The last slot of an index. Most often the indices count from 0: then it is seen at once.
    fn by_index(&self, index: u32) -> Option<u32> {
        let is_it = |(seen, _): &&(u32, u32)| *seen == index;
        let counted = self.by_index.get(index as usize).filter(is_it);
        let (_, slot) = counted.or_else(|| self.by_index.iter().find(is_it))?;
        Some(*slot)
    }

    /// The first table: none if the fragment begins a new call.
    fn find(&self, message: &Message, fragment: &Fragment<'_>) -> Option<Last> {
        if fragment.is_whole {
            return None;
        }
        if fragment.is_legacy {
            let legacy = self
                .slots
                .iter()
                .position(|slot| slot.place == Place::FunctionCall)?;
            return u32::try_from(legacy).ok().map(Last::Slot);
        }
        if let Some(slot) = fragment.index.and_then(|index| self.by_index(index)) {
            return Some(Last::Slot(slot));
        }
        if let Some(id) = fragment.id {
            let by_id = self
                .slots
                .iter()
                .position(|slot| slot.id(message) == Some(id))?;
            return u32::try_from(by_id).ok().map(Last::Slot);
        }
        Some(self.last).filter(|last| fragment.index.is_none() && *last != Last::Nowhere)
    }

    /// The second table.
    fn opens(
        &mut self,
        slot: u32,
        message: &Message,
        fragment: &Fragment<'_>,
        ledger: &Ledger,
    ) -> bool {
        let (Some(slot), Some(name)) = (self.slots.get_mut(slot as usize), fragment.name) else {
            return false;
        };
        let (old_name, arguments) = slot.texts(message);
        match (fragment.id, slot.id(message)) {
            (Some(id), Some(old)) if id == old => false,
            (Some(_), Some(_)) => {
                !(name == old_name
                    && !arguments.is_empty()
                    && !slot.is_whole(message, ledger.max_depth))
            }
            _ if old_name.is_empty() => false,
            _ => {
                (!is_blank(fragment.arguments) && slot.is_whole(message, ledger.max_depth))
                    || (name != old_name && !arguments.is_empty())
            }
        }
    }

    /// Makes a new call, in its place by index and arrival.
    fn open(
        &mut self,
        message: &mut Message,
        fragment: &Fragment<'_>,
        ledger: &mut Ledger,
    ) -> Result<u32, Limit> {
        if self.slots.len() >= ledger.max_tool_calls {
            return Err(Limit::ToolCalls);
        }
        let slot = u32::try_from(self.slots.len()).map_err(|_| Limit::ToolCalls)?;
        if !fragment.is_legacy {
            ledger.note_if(fragment.id.is_none(), Deviation::ToolIdMissing);
            ledger.note_if(!fragment.has_type, Deviation::ToolTypeMissing);
            ledger.note_if(
                fragment.index.is_some_and(|index| index != slot),
                Deviation::ToolIndexOutOfOrder,
            );
        }
        let index = fragment.index.unwrap_or(slot);
        let place = if fragment.is_legacy {
            message.function_call = Some(super::FunctionCall::default());
            Place::FunctionCall
        } else {
            let before = |slot: &Slot| slot.place != Place::FunctionCall && slot.index <= index;
            let at = self.slots.iter().filter(|slot| before(slot)).count();
            for slot in &mut self.slots {
                match &mut slot.place {
                    Place::ToolCall(place) if *place >= at => *place += 1,
                    _ => {}
                }
            }
            let custom = fragment.is_custom.then(CustomCall::default);
            message.tool_calls.insert(
                at.min(message.tool_calls.len()),
                ToolCall {
                    custom,
                    ..ToolCall::default()
                },
            );
            Place::ToolCall(at)
        };
        self.slots.push(Slot {
            place,
            index,
            ..Slot::default()
        });
        Ok(slot)
    }

    /// Completes what the choice's finish reason completes. Gives the slots.
    pub(super) fn complete_finished(
        &mut self,
        message: &Message,
        max_depth: usize,
        mut completed: impl FnMut(u32),
    ) {
        for (at, slot) in (0..).zip(&mut self.slots) {
            let is_custom = slot.call(message).is_some_and(|call| call.custom.is_some());
            let may = !slot.is_complete
                && !slot.is_cut
                && !is_custom
                && !slot.texts(message).0.is_empty();
            if may && slot.is_whole(message, max_depth) && slot.scan.is_filled() {
                slot.complete(message);
                completed(at);
            }
        }
    }

    /// Completes what the end of the stream completes. Gives the slots.
    pub(super) fn complete_rest(
        &mut self,
        message: &Message,
        reason: Option<&FinishReason>,
        max_depth: usize,
        mut completed: impl FnMut(u32),
    ) {
        let is_length = reason == Some(&FinishReason::Length);
        for (at, slot) in (0..).zip(&mut self.slots) {
            let (name, arguments) = slot.texts(message);
            if slot.is_complete || slot.is_cut || name.is_empty() {
                continue;
            }
            let is_custom = slot.call(message).is_some_and(|call| call.custom.is_some());
            let is_good = if is_custom || is_blank(arguments) {
                !is_length
            } else {
                slot.is_whole(message, max_depth)
            };
            if is_good {
                slot.complete(message);
                completed(at);
            }
        }
    }

    /// The slots of the calls that are not complete.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| !slot.is_complete)
            .map(|(at, _)| at)
    }

    /// The call in a slot.
    pub(super) fn call<'a>(&'a self, slot: u32, message: &'a Message) -> Option<&'a ToolCall> {
        let slot = self.slots.get(slot as usize)?;
        slot.legacy.as_deref().or_else(|| slot.call(message))
    }
}

impl Slot {
    fn call<'m>(&self, message: &'m Message) -> Option<&'m ToolCall> {
        match self.place {
            Place::ToolCall(at) => message.tool_calls.get(at),
            Place::FunctionCall => None,
        }
    }

    fn id<'m>(&self, message: &'m Message) -> Option<&'m str> {
        self.call(message)?.id.as_deref()
    }

    /// Name and arguments.
    fn texts<'m>(&self, message: &'m Message) -> (&'m str, &'m str) {
        match (self.call(message), &message.function_call) {
            (Some(call), _) => (call.name(), call.arguments()),
            (None, Some(call)) => (&call.name, &call.arguments),
            (None, None) => ("", ""),
        }
    }

    /// Whether the arguments are a whole object or list. Of a custom call they never are.
    fn is_whole(&mut self, message: &Message, max_depth: usize) -> bool {
        self.call(message).is_none_or(|call| call.custom.is_none())
            && self.scan.is_whole(self.texts(message).1, max_depth)
    }

    fn complete(&mut self, message: &Message) {
        self.is_complete = true;
        if let (Place::FunctionCall, Some(function)) = (self.place, &message.function_call) {
            let r#type = Some("function".to_owned());
            self.legacy = Some(Box::new(ToolCall {
                r#type,
                function: function.clone(),
                ..ToolCall::default()
            }));
        }
    }

    /// Writes a fragment into the call.
    fn write(
        &mut self,
        message: &mut Message,
        fragment: &Fragment<'_>,
        is_new: bool,
        ledger: &mut Ledger,
    ) {
        let is_resent = !is_blank(fragment.arguments)
            && self.texts(message).1 == fragment.arguments
            && self.is_whole(message, ledger.max_depth);
        let is_custom = self.call(message).is_some_and(|call| call.custom.is_some());
        let (name, arguments) = match self.place {
            Place::ToolCall(at) => {
                let Some(call) = message.tool_calls.get_mut(at) else {
                    return;
                };
                match (fragment.id, &call.id) {
                    (Some(id), None) if ledger.charge(id.len()) => call.id = Some(id.to_owned()),
                    (Some(_), None) => self.is_cut = true,
                    (Some(id), Some(old)) if id != old => ledger.note(Deviation::ToolIdChanged),
                    (Some(_), Some(_)) => ledger.note(Deviation::ToolIdRepeated),
                    _ => {}
                }
                match &mut call.custom {
                    Some(custom) => (&mut custom.name, &mut custom.input),
                    None => (&mut call.function.name, &mut call.function.arguments),
                }
            }
            Place::FunctionCall => {
                let Some(call) = &mut message.function_call else {
                    return;
                };
                (&mut call.name, &mut call.arguments)
            }
        };
        ledger.note_if(
            !is_new && fragment.name.is_some_and(|new| new == name),
            Deviation::ToolNameRepeated,
        );
        if let Some(new) = fragment.name.filter(|new| new != name) {
            if name.is_empty() || arguments.is_empty() {
                if !name.is_empty() {
                    ledger.note(Deviation::ToolNameSplit);
                }
                self.is_cut |= !ledger.append(name, new, Halves::default(), &mut 0);
            } else {
                ledger.note(Deviation::ToolNameChanged);
            }
        }
        self.is_cut |= fragment.halves.is_lost;
        if is_resent {
            ledger.note(Deviation::ArgumentsResent);
            return;
        }
        if !is_new && !is_custom && arguments == "{}" && !is_blank(fragment.arguments) {
            ledger.note(Deviation::ArgumentsPlaceholder);
            arguments.clear();
            self.scan = Scan::default();
        }
        if self.high != 0 {
            // The half at the end may become a character: it is scanned again.
            self.scan.shortened(
                arguments
                    .len()
                    .saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8()),
            );
        }
        self.is_cut |= !ledger.append(
            arguments,
            fragment.arguments,
            fragment.halves,
            &mut self.high,
        );
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_start().is_empty()
}

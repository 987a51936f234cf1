//! Fragments of tool calls.

use alloc::vec::Vec;

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::{Element, Refill, Seen, object, text};
use crate::Deviation;
use crate::chunk::context::Cx;
use crate::chunk::extra;
use crate::chunk::json::Halves;
use crate::chunk::lenient::{Arguments, Field, HalvedText, Index, IndexValue, Lenient};
use crate::chunk::types::{CustomDelta, FunctionDelta, Skipped, ToolCallDelta};

/// The list of tool call fragments; or one alone.
pub(super) struct ToolCalls<'a, 'h> {
    pub(super) calls: &'a mut Vec<ToolCallDelta>,
    pub(super) filled: &'a mut usize,
    pub(super) cx: &'a mut Cx<'h>,
}

impl ToolCalls<'_, '_> {
    /// Forgets what an earlier list said, under the same key.
    fn begin(&mut self) {
        *self.filled = 0;
        self.cx.skipped_calls = Skipped::default();
    }

    /// The struct that the next fragment is read into.
    fn target(&mut self) -> Option<&mut ToolCallDelta> {
        if self.calls.len() == *self.filled {
            self.calls.reserve_exact(1);
            self.calls
                .push(self.cx.spare.calls.pop().unwrap_or_default());
        }
        self.calls.get_mut(*self.filled)
    }
}

impl Field for ToolCalls<'_, '_> {
    fn absent(mut self) {
        self.begin();
    }

    fn wrong(self) {
        self.cx.note(Deviation::WrongType);
        self.absent();
    }

    fn object<'de, A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        self.begin();
        self.target();
        let Some(target) = self.calls.first_mut() else {
            return Ok(());
        };
        self.cx.note(Deviation::ToolCallsNotList);
        target.refill(map, self.cx)?;
        let is_over = core::mem::take(&mut self.cx.over_index);
        self.cx.skipped_calls.index |= is_over;
        self.cx.skipped_calls.is_last |= is_over;
        *self.filled = usize::from(!is_over);
        Ok(())
    }

    fn list<'de, A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.begin();
        let ToolCalls { calls, filled, cx } = self;
        loop {
            if *filled >= cx.limits.max_tool_calls {
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    cx.skipped_calls.count = true;
                    cx.skipped_calls.is_last = true;
                }
                return Ok(());
            }
            let element = Element {
                list: &mut *calls,
                at: *filled,
                spare: |cx| cx.spare.calls.pop(),
                prepare: |_, _| {},
                position: 0,
                cx: &mut *cx,
            };
            let Some(is_object) = seq.next_element_seed(element)? else {
                return Ok(());
            };
            let is_over = core::mem::take(&mut cx.over_index);
            let skipped = &mut cx.skipped_calls;
            skipped.index |= is_over;
            if let (true, false, Some(call)) = (is_object, is_over, calls.get_mut(*filled)) {
                call.after_skipped.is_last = core::mem::take(&mut skipped.is_last);
                *filled += 1;
            }
            skipped.is_last |= is_over;
        }
    }
}

impl Refill for ToolCallDelta {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.extra.clear();
        self.slot = None;
        self.after_skipped = Skipped::default();
        let mut index = IndexValue::Missing;
        refill!(self, map, (slot, cx), fields {
            "id" => id by text(slot, cx);
            "type" => r#type by text(slot, cx);
            "function" => function by object(slot, cx);
            "custom" => custom by object(slot, cx);
        } keys {
            "index" as index => map.next_value_seed(Lenient(Index(&mut index, &mut *cx)))?;
        } other keep!(self, map, cx));
        self.index = if let IndexValue::Valid(index) = index {
            Some(index)
        } else {
            None
        };
        cx.over_index = index == IndexValue::Over;
        Ok(())
    }
}

impl Refill for FunctionDelta {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.halves = Halves::default();
        let halves = &mut self.halves;
        refill!(self, map, (slot, cx), fields {
            "name" => name by text(slot, cx);
            "arguments" => arguments by Arguments(HalvedText { slot, halves: &mut *halves, cx: &mut *cx });
        } keys {} other { map.next_value::<IgnoredAny>()?; });
        Ok(())
    }
}

impl Refill for CustomDelta {
    fn refill<'de, A: MapAccess<'de>>(
        &mut self,
        mut map: A,
        cx: &mut Cx<'_>,
    ) -> Result<(), A::Error> {
        self.halves = Halves::default();
        let halves = &mut self.halves;
        refill!(self, map, (slot, cx), fields {
            "name" => name by text(slot, cx);
            "input" => input by Arguments(HalvedText { slot, halves: &mut *halves, cx: &mut *cx });
        } keys {} other { map.next_value::<IgnoredAny>()?; });
        Ok(())
    }
}

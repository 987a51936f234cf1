//! The table of deviations: the place to add one. Each has a code, what it is, who sends it, and what it does to clients
//! that do not expect it; and a fixture of its name in `fixtures/deviations.jsonl`.

/// Writes the enum and its texts from one table, so that they cannot drift apart.
macro_rules! deviations {
    ($($name:ident = $code:literal, $what:literal, $sender:literal, $breaks:literal;)+) => {
        /// A way in which a stream differed from what OpenAI sends, and that was tolerated.
        ///
        /// The codes ([`as_str`](Self::as_str)) are stable. What was met in a stream, how often, and where first:
        /// [`Parser::deviations`](crate::Parser::deviations).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Deviation { $(
            #[doc = $what]
            #[doc = ""]
            #[doc = concat!("Sent by: ", $sender)]
            #[doc = ""]
            #[doc = concat!("Breaks: ", $breaks)]
            $name,
        )+ }

        impl Deviation {
            /// All of them, in the order in which they are declared.
            ///
            /// ```
            /// use chatwire::Deviation;
            /// assert!(Deviation::ALL.contains(&Deviation::FinishReasonEmpty));
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The stable code, in snake case.
            ///
            /// ```
            /// assert_eq!(chatwire::Deviation::ToolIndexMissing.as_str(), "tool_index_missing");
            /// ```
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// What it is, and how it was read.
            ///
            /// ```
            /// assert!(chatwire::Deviation::BareDone.description().contains("[DONE]"));
            /// ```
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(Self::$name => $what,)+ }
            }

            /// Who is known to send it.
            ///
            /// ```
            /// assert!(chatwire::Deviation::UsageInXGroq.sent_by().contains("Groq"));
            /// ```
            #[must_use]
            pub const fn sent_by(self) -> &'static str {
                match self { $(Self::$name => $sender,)+ }
            }

            /// Which clients break on it, and how; `none known` if none.
            ///
            /// ```
            /// assert!(chatwire::Deviation::FinishReasonEmpty.breaks().contains("enum"));
            /// ```
            #[must_use]
            pub const fn breaks(self) -> &'static str {
                match self { $(Self::$name => $breaks,)+ }
            }
        }
    };
}

deviations! {
    // The event stream.
    FrameUnterminated = "frame_unterminated",
        "The input ended in the middle of a frame, without its blank line; the frame was read.",
        "servers and proxies that do not send the last line end",
        "parsers that keep to WHATWG drop the frame, and with it the finish reason or the usage";
    InvalidUtf8 = "invalid_utf8",
        "Bytes that are no UTF-8; each bad sequence was read as U+FFFD.",
        "servers that cut text by bytes or tokens",
        "decoders that raise an error lose the rest of the stream";
    StrayLine = "stray_line",
        "A line that is no field of an event stream; it was ignored.",
        "gateways that write logs or other data between frames",
        "none known";
    ErrorFieldLine = "error_field_line",
        "A line `error: {json}`; it was read as an error of the server.",
        "llama.cpp",
        "event stream parsers drop the unknown field, and an empty answer is left";
    BareDone = "bare_done",
        "A line `[DONE]` without `data:`; it was read as the end.",
        "one-api and gateways made from it",
        "event stream parsers drop the line, and wait for the end";
    BareJson = "bare_json",
        "JSON on lines without `data:`, beside or in place of an event stream; it was read as a payload.",
        "servers that answer without streaming, or with a JSON error, in spite of `stream: true`",
        "event stream parsers see an empty answer";
    KeepAliveEvent = "keep_alive_event",
        "An event named `ping`, `keepalive`, `keep-alive` or `heartbeat`; it was ignored.",
        "Anthropic-style gateways",
        "clients that decode every payload fail on its data";
    PayloadBlank = "payload_blank",
        "A frame with blank data; it was ignored.",
        "servers that use it to keep the connection alive",
        "clients that decode every payload fail on it and end the stream";
    DoneQuoted = "done_quoted",
        "`\"[DONE]\"` in quotes; it was read as the end.",
        "servers that encode every payload as JSON",
        "clients that compare the payload with `[DONE]` try to decode it as a chunk";
    DoneMissing = "done_missing",
        "The stream ended cleanly, with every choice finished, and without `[DONE]`.",
        "Gemini and several gateways",
        "clients that wait for the marker hang, or report a good answer as an error";
    // The payload.
    PayloadSequence = "payload_sequence",
        "Several JSON values in one frame; each was read.",
        "servers that forget the blank lines between frames",
        "clients that decode the payload as one value lose all of it";
    PayloadLines = "payload_lines",
        "A frame that is no sequence of JSON values; each line of it was read for itself.",
        "servers that forget blank lines beside a line that is broken",
        "clients that decode the payload as one value lose the good lines";
    PayloadIgnored = "payload_ignored",
        "A JSON object that is neither a chunk nor an error; it was ignored.",
        "gateways (`{}`, billing records, events of other protocols)",
        "clients that index into `choices` fail on it";
    NotFinite = "not_finite",
        "`NaN` or `Infinity`, which are no JSON; read as null.",
        "Python servers (`json.dumps` writes them by default)",
        "strict JSON decoders lose the chunk";
    NumberOutOfRange = "number_out_of_range",
        "A number too large for its type; its field was left out.",
        "servers with another clock or number type",
        "typed decoders lose the chunk";
    LoneSurrogate = "lone_surrogate",
        "Half of a UTF-16 surrogate pair; U+FFFD in its delta, and joined with its other half in the answer.",
        "servers that cut text by UTF-16 units",
        "decoders that reject it lose the chunk, others show two U+FFFD for one character";
    DuplicateKey = "duplicate_key",
        "A known key twice in one object; the last one was read.",
        "gateways that add fields by pasting text",
        "decoders that reject it (serde's derive) lose the chunk";
    WrongType = "wrong_type",
        "A field with a value of another type than documented; it was read as absent.",
        "gateways and hand-written servers",
        "typed decoders lose the whole chunk";
    CountNotInteger = "count_not_integer",
        "A token count or a time sent as text or with a fraction; its whole part was read.",
        "hand-written servers",
        "typed decoders lose the chunk, and with it the usage or the text";
    ObjectMissing = "object_missing",
        "A chunk without `object`.",
        "gateways",
        "clients that look for `chat.completion.chunk` lose every chunk";
    ChoicesMissing = "choices_missing",
        "A chunk whose `choices` is missing or null; read as none.",
        "gateways, in usage frames",
        "typed decoders lose the chunk, others index into null";
    ChoicesEmpty = "choices_empty",
        "A chunk with no choices, no usage and no moderation.",
        "Azure (the first one, with the results of its prompt filter)",
        "clients that take it for the end, or index into `choices[0]`, lose the answer";
    ChoiceIndexMissing = "choice_index_missing",
        "A choice without an index; its position in the list was taken.",
        "gateways",
        "clients that default to 0 mix the answers of several choices";
    IndexAsText = "index_as_text",
        "An index sent as text (`\"0\"`).",
        "hand-written servers",
        "typed decoders lose the chunk";
    IndexInvalid = "index_invalid",
        "An index that is none (negative, a fraction, a word); read as missing.",
        "gateways that send -1 for `unknown`",
        "typed decoders lose the chunk";
    IdChanged = "id_changed",
        "Another `id` than in the chunk before; the first was kept.",
        "gateways that make one for each chunk",
        "clients that key their state by it start a new answer for each chunk";
    RoleRepeated = "role_repeated",
        "A role in a later delta; the first was kept.",
        "OpenRouter, vLLM, Mistral and others, in every delta",
        "clients that append every field of a delta get `assistantassistant`";
    DeltaMissing = "delta_missing",
        "A choice without a delta, or with a null one; read as empty.",
        "Azure (content filter frames)",
        "typed decoders lose the chunk, others fail on the missing object";
    DeltaAfterFinish = "delta_after_finish",
        "Text or a call after the choice's finish reason; it was read.",
        "gateways that send `stop` early",
        "clients that stop at the finish reason lose it";
    MessageInPlaceOfDelta = "message_in_place_of_delta",
        "`message` where a delta belongs; read if nothing came before it for its choice.",
        "servers that do not stream; servers that repeat the whole message at the end; Perplexity beside each delta",
        "clients that read deltas only see no text, those that read both double it";
    ContentParts = "content_parts",
        "`content` as a list of parts; text parts were joined, `thinking` parts read as reasoning.",
        "Mistral",
        "typed decoders lose the chunk, others print the list";
    ReasoningRenamed = "reasoning_renamed",
        "Reasoning under another name than `reasoning_content`; read as that.",
        "OpenRouter, Groq and vLLM (`reasoning`), Mistral and others",
        "clients that know one name see no reasoning";
    FinishReasonEmpty = "finish_reason_empty",
        "`finish_reason: \"\"`; read as none.",
        "one-api gateways and hand-written servers, in every chunk",
        "closed enums lose every chunk; clients that only test for null stop at the first";
    FinishReasonUnknown = "finish_reason_unknown",
        "A finish reason that is not one of OpenAI's five; kept as sent.",
        "TGI (`eos_token`), DeepSeek (`insufficient_system_resource`), OpenRouter (`error`) and others",
        "closed enums lose the last chunk, and with it the answer";
    FinishReasonRenamed = "finish_reason_renamed",
        "`finishReason` in place of `finish_reason`.",
        "gateways in front of Gemini",
        "clients never see the end of the choice";
    FinishReasonChanged = "finish_reason_changed",
        "A second finish reason that differs; a plain `stop` never replaces another one, else the last counts.",
        "proxies that send `stop` on every chunk",
        "clients that keep the first hide a truncated answer, those that keep the last may lose the reason";
    FinishReasonMissing = "finish_reason_missing",
        "`[DONE]` came, and a choice had no finish reason.",
        "gateways",
        "clients that demand one fail on a good answer";
    UsageInChoice = "usage_in_choice",
        "Usage inside a choice; read if there is none in its place.",
        "Moonshot",
        "clients report no usage";
    UsageInXGroq = "usage_in_x_groq",
        "Usage inside `x_groq`; read if there is none in its place.",
        "Groq",
        "clients report no usage";
    UsageRenamed = "usage_renamed",
        "`input_tokens` / `output_tokens` in place of `prompt_tokens` / `completion_tokens`.",
        "gateways in front of Anthropic",
        "clients report 0 tokens";
    UsageEmpty = "usage_empty",
        "A usage object without any count; it is no usage.",
        "gateways",
        "clients report 0 tokens, over the real count if it came before";
    UsageRepeated = "usage_repeated",
        "Usage in a second chunk: a running total. The last counts, nothing is added up.",
        "Perplexity, xAI, vLLM with `continuous_usage_stats`, and others, in every chunk",
        "clients that add them up bill many times";
    UsageBesideChoices = "usage_beside_choices",
        "Usage in a chunk that has choices.",
        "most providers but OpenAI, in the chunk with the finish reason",
        "clients that look for usage only where `choices` is empty miss it; those that skip chunks with usage lose text";
    UsageZeroed = "usage_zeroed",
        "An all-zero usage after a real one; the real one was kept.",
        "relays",
        "clients that keep the last report 0 tokens";
    // Tool calls.
    ToolCallsNotList = "tool_calls_not_list",
        "`tool_calls` as one object; read as a list of one.",
        "hand-written servers",
        "typed decoders lose the chunk";
    ToolIndexMissing = "tool_index_missing",
        "A tool call fragment without an index; it goes by its id, or to the last call.",
        "Gemini, Ollama and others",
        "typed decoders lose the chunk; clients that default to 0 merge calls";
    ToolIndexReused = "tool_index_reused",
        "A new call under the index of another one.",
        "Gemini and Ollama (every index is 0)",
        "clients that go by the index alone merge calls into arguments that are no JSON";
    ToolIndexOutOfOrder = "tool_index_out_of_order",
        "A new call whose index is not the number of calls before it.",
        "servers that count from 1, or that finish calls in parallel",
        "clients that index into a list fail, or make up empty calls";
    ToolIdMissing = "tool_id_missing",
        "A new call without an id.",
        "Gemini, Ollama and others",
        "clients that go by the id merge calls, or cannot send the result back";
    ToolIdRepeated = "tool_id_repeated",
        "The id of a call again in a later fragment.",
        "gateways, in every fragment",
        "clients that append every field get `call_1call_1`; others open a call for each";
    ToolIdChanged = "tool_id_changed",
        "Another id for a call that is open, without a name; the first was kept.",
        "gateways that make one for each fragment",
        "clients that go by the id open a new call for each fragment";
    ToolTypeMissing = "tool_type_missing",
        "A new call without `type`; read as a function.",
        "Mistral, Groq and others",
        "typed decoders lose the chunk";
    ToolNameRepeated = "tool_name_repeated",
        "The name of a call again in a later fragment.",
        "gateways, in every fragment",
        "clients that append every field get `read_fileread_file`";
    ToolNameSplit = "tool_name_split",
        "The name of a function in pieces; joined.",
        "gateways in front of Gemini",
        "clients that set the name once keep the first piece";
    ToolNameChanged = "tool_name_changed",
        "Another name for a call whose arguments have begun; the first was kept.",
        "gateways",
        "clients that overwrite the name call another function";
    ArgumentsNotText = "arguments_not_text",
        "Arguments as a JSON object; written as text.",
        "Ollama and hand-written servers",
        "typed decoders lose the chunk, others get `[object Object]`";
    ArgumentsPlaceholder = "arguments_placeholder",
        "`{}` before the real arguments; replaced by them.",
        "gateways in front of Anthropic",
        "clients that append get `{}{...}`, which is no JSON";
    ArgumentsResent = "arguments_resent",
        "The whole arguments a second time; the copy was dropped.",
        "gateways that flush at the end",
        "clients that append get the arguments twice, which is no JSON";
    ToolFragmentLate = "tool_fragment_late",
        "A fragment for a call that is complete; it was dropped.",
        "gateways that repeat the last chunk",
        "clients that append change a call that has run";
    ToolCallIncomplete = "tool_call_incomplete",
        "A call without a name, or without whole arguments, at the end; it never completes.",
        "models that were cut off, or that write broken JSON",
        "clients that run every call fail on its arguments";
}

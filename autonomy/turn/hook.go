package turn

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/llm"
	"hob/tools"
)

// Hook is one place of the chain through which every model call and every tool call of a turn
// passes. The order is fixed:
//
//	route -> schema -> limits -> Options.Hooks -> policy -> approval ->
//	execute -> audit -> truncate -> Options.Hooks -> limits -> log
//
// Route and schema resolve the tool and validate its arguments; limits refuse loops; policy is
// the guard. The steps after a call run in the opposite order, so that the ledger has the whole
// result and Hooks see the text that the model will read.
//
// A Hook can only restrict: it gets copies, it may refuse, and it cannot change earlier
// messages, the call or its result. Any method may be nil. All of them are called one after
// another within a turn, and concurrently by turns of different sessions.
type Hook struct {
	Name string
	// BeforeModel refuses a model call with an error, which ends the turn. An *llm.Error
	// determines whether the loop retries.
	BeforeModel func(ctx context.Context, m ModelCall) error
	// AfterModel gets the result of a model call. A panic is logged.
	AfterModel func(ctx context.Context, m ModelCall)
	// BeforeTool refuses a tool call with an error. The model gets a *tools.Error unchanged;
	// any other error and a panic deny the call like a policy. Calls refused earlier do not
	// reach it.
	BeforeTool func(ctx context.Context, c ToolCall) error
	// AfterTool gets the result of a call, also of a refused one. A panic is logged.
	AfterTool func(ctx context.Context, c ToolCall)
}

// ModelCall is a copy of a request to a model, for a Hook.
type ModelCall struct {
	Event, Session string
	Model          llm.Info
	Round          int  // 1 for the first of the turn
	Final          bool // no more tool calls are allowed
	MaxTokens      int  // output limit, 0 for the driver's default
	// Usage, Answered and Took are set after the call. Answered is the name of the model that
	// answered.
	Usage    llm.Usage
	Answered string
	Took     time.Duration
}

// ToolCall is a copy of a tool call, for a Hook.
type ToolCall struct {
	Event, Session, Call string
	Tool                 string // the tool that is executed, resolved through use_tool
	Effects              tools.Effects
	Args                 json.RawMessage
	Attended, Tainted    bool
	// Text, Err and Took are set after the call. Text is the text that the model reads.
	Text string
	Err  error
	Took time.Duration
}

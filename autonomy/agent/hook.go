package agent

import (
	"context"
	"encoding/json"
	"time"

	"hob/autonomy/llm"
	"hob/tools"
)

// Hook is one place of the chain through which every model call and every tool
// call of a turn passes. The order is fixed:
//
//	route -> schema -> limits -> Options.Hooks -> policy -> approval ->
//	execute -> audit -> truncate -> Options.Hooks -> limits -> log
//
// Route and schema say which tool is meant and whether its arguments fit it;
// limits refuse what goes round in circles; policy is the guard. What runs
// after a call runs in the opposite order, so that the ledger has the whole
// result and Hooks see what the model will read.
//
// A Hook can only narrow: it gets copies, it may refuse, and it cannot change
// what was said before, what is called or what a call returned. Any method may
// be nil. All of them are called one after another within a turn, and
// concurrently by turns of different sessions.
type Hook struct {
	Name string
	// BeforeModel refuses a model call with an error, which ends the turn; an
	// *llm.Error tells the loop above whether to try again.
	BeforeModel func(ctx context.Context, m ModelCall) error
	// AfterModel sees what a model call came to. A panic is logged.
	AfterModel func(ctx context.Context, m ModelCall)
	// BeforeTool refuses a tool call with an error: a *tools.Error is told to
	// the model as it is, anything else and a panic deny the call as a policy
	// would. Calls that were refused before do not come here.
	BeforeTool func(ctx context.Context, c ToolCall) error
	// AfterTool sees what a call came to, refused ones too. A panic is logged.
	AfterTool func(ctx context.Context, c ToolCall)
}

// ModelCall is one request to a model, as a Hook sees it.
type ModelCall struct {
	Event, Session string
	Model          llm.Info
	Round          int  // 1 is the first of the turn
	Final          bool // no tools may be called any more
	MaxTokens      int  // output limit, 0 for the driver's default
	// Usage, Answered and Took are set after the call. Answered is the name of
	// the model that answered.
	Usage    llm.Usage
	Answered string
	Took     time.Duration
}

// ToolCall is one call of a tool, as a Hook sees it.
type ToolCall struct {
	Event, Session, Call string
	Tool                 string // what really runs, looked up through use_tool
	Effects              tools.Effects
	Args                 json.RawMessage
	Attended, Tainted    bool
	// Text, Err and Took are set after the call. Text is what the model reads.
	Text string
	Err  error
	Took time.Duration
}

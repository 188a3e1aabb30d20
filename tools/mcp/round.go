package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/retry"
	"hob/tools"
)

// callRound collects the questions of one call, and contains the answers that the call may send.
type callRound struct {
	s         *server
	given     map[string]map[string]any // answers keyed by digest; each answer is sent once
	declined  map[string]bool           // keyed by digest
	responses mcp.InputResponseMap      // answers of a call that resumes
	state     string

	ctx    context.Context //nolint:containedctx // the call continues while the user is asked
	cancel context.CancelCauseFunc
	asked  chan struct{} // receives a value when the server asked a question
	done   chan struct{} // closed when the call has ended with result and err
	result tools.Result
	err    error

	mu      sync.Mutex
	limit   *time.Timer // ends the call; stopped while a question waits
	report  func(fraction float64, note string)
	count   int
	forms   []form                 // the unanswered question; Hob cancels all further questions of the call
	waiting chan *mcp.ElicitResult // receives the answer to the question; nil if the server no longer waits
	next    string                 // state of a call that can resume
	resumes bool
	used    map[string]map[string]any
	notes   []string // why Hob declined questions
}

// startRound starts the call. While a question waits for its answer, the call continues after the
// caller's turn has ended.
func (t *foreignTool) startRound(ctx context.Context, ses *session, c tools.Call, r *callRound) {
	r.s, r.used, r.report = t.s, map[string]map[string]any{}, c.Progress
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	r.asked, r.done = make(chan struct{}, 1), make(chan struct{})
	r.limit = time.AfterFunc(t.s.cfg.Timeout.Duration, func() { r.cancel(errCallTimeout) })
	if c.Progress != nil {
		c.Progress = func(fraction float64, note string) {
			r.mu.Lock()
			report := r.report
			r.mu.Unlock()
			if report != nil {
				report(fraction, note)
			}
		}
	}
	ses.endWaiting()
	callCtx, end := ses.beginRound(r.ctx, r)
	t.s.m.work.Go(func() {
		r.result, r.err = t.sendCall(callCtx, ses, c)
		end()
		r.limit.Stop()
		r.cancel(nil)
		close(r.done)
	})
}

// awaitRound waits for the end of the call, or for a question.
func (t *foreignTool) awaitRound(ctx context.Context, c tools.Call, r *callRound) (tools.Result, error) {
	select {
	case <-r.done:
	case <-r.asked:
		r.mu.Lock()
		r.report = nil
		r.mu.Unlock()
		return t.endRound(c, r, tools.Result{}, errAsked)
	case <-ctx.Done():
		r.cancel(ctx.Err())
		<-r.done
	}
	return t.endRound(c, r, r.result, r.err)
}

// errCallTimeout ends a call that the server did not answer in time.
var errCallTimeout = fmt.Errorf("no answer of the server: %w", context.DeadlineExceeded)

// maxWaiting is the time for which a call of revision 2025-11-25 waits for the user's answer.
const maxWaiting = 5 * time.Minute

// waitForUser delays the response to the request of the server until the user answers. The caller
// holds r.mu, which waitForUser unlocks.
func (r *callRound) waitForUser(f form) *mcp.ElicitResult {
	answer := make(chan *mcp.ElicitResult, 1)
	r.forms, r.waiting = []form{f}, answer
	r.limit.Stop()
	r.mu.Unlock()
	r.asked <- struct{}{} // one question at a time
	// The transport ends an idle stream one minute after the time limit of calls.
	timer := time.NewTimer(min(maxWaiting, r.s.cfg.Timeout.Duration))
	defer timer.Stop()
	select {
	case a := <-answer:
		return a
	case <-timer.C:
	case <-r.ctx.Done():
	case <-r.s.m.life.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = nil
	r.limit.Reset(r.s.cfg.Timeout.Duration)
	select {
	case a := <-answer: // the answer was given in the meantime
		return a
	default:
		return &mcp.ElicitResult{Action: "cancel"}
	}
}

// giveAnswer passes the answer to the call if the call waits for it. It returns false otherwise.
func (r *callRound) giveAnswer(digest string, a *mcp.ElicitResult, report func(float64, string)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil || len(r.forms) != 1 || r.forms[0].digest != digest {
		return false
	}
	r.waiting <- a
	r.forms, r.waiting, r.report = nil, nil, report
	r.used[digest] = a.Content
	r.limit.Reset(r.s.cfg.Timeout.Duration)
	return true
}

// endWaiting ends the calls that wait for answers, because another call begins and questions do not
// name their call.
func (ses *session) endWaiting() {
	ses.mu.Lock()
	rounds := slices.Clone(ses.rounds)
	ses.mu.Unlock()
	for _, r := range rounds {
		r.mu.Lock()
		answer := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		if answer == nil {
			continue
		}
		answer <- &mcp.ElicitResult{Action: "cancel"}
		select {
		case <-r.done:
		case <-time.After(patience):
			r.cancel(context.Canceled)
			<-r.done
		}
	}
}

type roundKey struct{}

// beginRound passes the questions of the server to r until the returned function is called.
func (ses *session) beginRound(ctx context.Context, r *callRound) (context.Context, func()) {
	ses.mu.Lock()
	ses.rounds = append(ses.rounds, r)
	ses.mu.Unlock()
	return context.WithValue(ctx, roundKey{}, r), func() {
		ses.mu.Lock()
		ses.rounds = slices.DeleteFunc(ses.rounds, func(x *callRound) bool { return x == r })
		ses.mu.Unlock()
	}
}

// answerElicitation answers a request of the server. Requests do not name the call that caused
// them, so Hob cancels all requests while several calls run.
func (s *server) answerElicitation(ses *session, p *mcp.ElicitParams) *mcp.ElicitResult {
	ses.mu.Lock()
	rounds := slices.Clone(ses.rounds)
	ses.mu.Unlock()
	if len(rounds) == 1 {
		return rounds[0].answerRequest(p)
	}
	for _, r := range rounds {
		r.addNote("the server asked a question while several of its tools ran; repeat this call alone")
	}
	return &mcp.ElicitResult{Action: "cancel"}
}

func (r *callRound) addNote(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, text) && len(r.notes) < maxRequests {
		r.notes = append(r.notes, text)
	}
}

// answerRequest gives the stored answer to exactly this question. It declines requests that Hob
// refuses, and cancels all other requests.
func (r *callRound) answerRequest(p *mcp.ElicitParams) *mcp.ElicitResult {
	f, err := r.s.readForm("", p)
	if err != nil {
		r.addNote(declinedText + err.Error())
		return &mcp.ElicitResult{Action: "decline"}
	}
	r.mu.Lock()
	r.count++
	content, ok := r.given[f.digest]
	switch {
	case r.count > maxRequests:
		r.mu.Unlock()
		return &mcp.ElicitResult{Action: "decline"}
	case r.forms != nil:
		r.mu.Unlock()
		return &mcp.ElicitResult{Action: "cancel"}
	case ok:
		delete(r.given, f.digest)
		r.used[f.digest] = content
		r.mu.Unlock()
		return &mcp.ElicitResult{Action: "accept", Content: content}
	case r.declined[f.digest]:
		r.mu.Unlock()
		return &mcp.ElicitResult{Action: "decline"}
	}
	return r.waitForUser(f)
}

// errAsked ends a call whose result is a question.
var errAsked = errors.New("the server needs an answer")

const declinedText = "the server asked a question, which Hob declined: "

// refusal ends a call whose result is a request that Hob refuses.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

// resumeCalls passes answers to calls that resume, and collects the questions in results (revision
// 2026-07-28). It is a sending middleware. The SDK's own middleware would answer the questions
// immediately.
func resumeCalls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, ok := ctx.Value(roundKey{}).(*callRound)
		if !ok {
			return next(ctx, method, req)
		}
		state := r.state
		for busy := 0; ; busy++ {
			setInput(req.GetParams(), r.responses, state)
			res, err := next(ctx, method, req)
			if err != nil {
				return res, r.readURLError(err)
			}
			requests, nextState, asks := neededInput(res)
			switch {
			case !asks:
				return res, nil
			case len(requests) == 0 && busy < maxBusyRetries: // the server is busy
				if err := retry.Sleep(ctx, time.Second); err != nil {
					return nil, err
				}
				state = nextState
				continue
			case len(requests) == 0:
				return nil, errors.New("the server is busy; try again later")
			}
			if err := r.readRequests(requests, nextState); err != nil {
				return nil, err
			}
			return nil, errAsked
		}
	}
}

// readRequests stores the questions in a result.
func (r *callRound) readRequests(requests mcp.InputRequestMap, state string) error {
	if len(requests) > maxAtOnce {
		return &refusal{fmt.Sprintf("the server asks %d questions at once, at most %d are allowed", len(requests), maxAtOnce)}
	}
	var forms []form
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		p, ok := requests[key].(*mcp.ElicitParams)
		if !ok {
			return &refusal{"the server asks for the output of a model or for a list of folders, which Hob does not provide"}
		}
		f, err := r.s.readForm(key, p)
		if err != nil {
			return &refusal{declinedText + err.Error()}
		}
		forms = append(forms, f)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forms, r.next, r.resumes = forms, state, true
	return nil
}

// readURLError stores the question in an error that requires the user to open an address first.
func (r *callRound) readURLError(err error) error {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || wire.Code != mcp.CodeURLElicitationRequired {
		return err
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(wire.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxAtOnce {
		return err
	}
	var forms []form
	for _, p := range data.Elicitations {
		if p == nil || p.Mode != "url" {
			return err
		}
		f, formErr := r.s.readForm("", p)
		if formErr != nil {
			return &refusal{declinedText + formErr.Error()}
		}
		forms = append(forms, f)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forms = forms[:1] // the server asks for the other addresses when the call is repeated
	return errAsked
}

// setInput sets the answers and the state of a request.
func setInput(p mcp.Params, answers mcp.InputResponseMap, state string) {
	switch p := p.(type) {
	case *mcp.CallToolParams:
		p.InputResponses, p.RequestState = answers, state
	case *mcp.GetPromptParams:
		p.InputResponses, p.RequestState = answers, state
	case *mcp.ReadResourceParams:
		p.InputResponses, p.RequestState = answers, state
	}
}

// neededInput returns the requests for input in a result.
func neededInput(res mcp.Result) (requests mcp.InputRequestMap, state string, asks bool) {
	switch res := res.(type) {
	case *mcp.CallToolResult:
		return res.InputRequests, res.RequestState, res.NeedsInput()
	case *mcp.GetPromptResult:
		return res.InputRequests, res.RequestState, res.NeedsInput()
	case *mcp.ReadResourceResult:
		return res.InputRequests, res.RequestState, res.NeedsInput()
	}
	return nil, "", false
}

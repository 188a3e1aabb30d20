package mcp

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/provenance"
	"hob/tools"
)

// Limits of the questions of a server.
const (
	maxQuestions   = 20 // questions of one server that wait for an answer
	questionLife   = 24 * time.Hour
	maxRequests    = 10 // questions in one call; further ones are declined
	maxAtOnce      = 5  // questions in one result of revision 2026-07-28
	maxBusyRetries = 3
)

// question is a request for input that a server sent during a call (elicitation). Hob keeps it
// until the user answers.
type question struct {
	id      string
	session string // conversation of the call
	at      time.Time
	tool    string // name on the server
	args    json.RawMessage
	forms   []form
	// given contains the answers to earlier questions of the server, keyed by digest. A server of
	// revision 2025-11-25 asks these questions again when the call is repeated.
	given map[string]map[string]any
	// state continues the call in revision 2026-07-28 (SEP-2322). resumes is false in the former
	// revision.
	state   string
	resumes bool
	// open is the call of the former revision, which waits for the answer for a limited time. After
	// that the call must be repeated.
	open *callRound
}

// endRound returns the outcome of a call: its result, or the question that the server asked.
func (t *foreignTool) endRound(c tools.Call, r *callRound, res tools.Result, err error) (tools.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forms != nil {
		q := &question{session: conversationOf(c), at: time.Now(), tool: t.name, args: c.Args, forms: r.forms, state: r.next, resumes: r.resumes, given: maps.Clone(r.used)}
		if r.waiting != nil {
			q.open = r
		}
		t.s.keepQuestion(q)
		reply := res.Text
		if err != nil && !errors.Is(err, errAsked) {
			reply = err.Error()
		}
		return tools.Result{}, &tools.Error{Code: tools.InputRequired, Source: provenance.Outside, Message: t.s.describeQuestion(q, reply)}
	}
	if len(r.notes) == 0 {
		return res, err
	}
	note := "(" + strings.Join(r.notes, "; ") + ")"
	if err != nil {
		if e, ok := errors.AsType[*tools.Error](err); ok {
			more := *e
			more.Message += " " + note
			return res, &more
		}
		return res, err
	}
	res.Text += "\n" + note
	return res, nil
}

// conversationOf returns the conversation of a call. Each call of a command has its own session.
func conversationOf(c tools.Call) string {
	if strings.HasPrefix(c.Session, "tool:") {
		return c.Report
	}
	return c.Session
}

// keepQuestion stores a question. The id is keyed, so that a
// server cannot compute another question with the same id.
func (s *server) keepQuestion(q *question) {
	mac := hmac.New(sha256.New, s.m.questionKey)
	for _, part := range []string{s.cfg.Name, q.session, q.tool, string(q.args)} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	for _, f := range q.forms {
		mac.Write([]byte(f.digest))
	}
	for _, d := range slices.Sorted(maps.Keys(q.given)) {
		mac.Write([]byte(d))
	}
	q.id = hex.EncodeToString(mac.Sum(nil))[:12]
	s.mu.Lock()
	if s.questions == nil {
		s.questions = map[string]*question{}
	}
	s.questions[q.id] = q
	maps.DeleteFunc(s.questions, func(_ string, x *question) bool { return time.Since(x.at) > questionLife })
	for len(s.questions) > maxQuestions {
		oldest := q
		for _, x := range s.questions {
			if x.at.Before(oldest.at) {
				oldest = x
			}
		}
		delete(s.questions, oldest.id)
	}
	s.mu.Unlock()
}

// findQuestion returns the question with an id, or nil.
func (s *server) findQuestion(id string) *question {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.questions[id]
	if q == nil || time.Since(q.at) > questionLife {
		return nil
	}
	return q
}

// describeQuestion returns the text of a question for a model. reply is the server's answer after
// its question was canceled.
func (s *server) describeQuestion(q *question, reply string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s%s is not complete, because the MCP server asks a question (question %s).\n", s.cfg.Name, tools.ForeignSeparator, q.tool, q.id)
	answer := `"answers": {...}`
	for _, f := range q.forms {
		b.WriteString(f.describeForm(len(q.forms) > 1))
	}
	if q.forms[0].url != "" {
		answer = fmt.Sprintf(`"url": %q`, q.forms[0].url)
	}
	if len(q.forms) > 1 {
		answer = `"answers": {"NAME OF THE QUESTION": {...}}`
	}
	if reply != "" {
		fmt.Fprintf(&b, "Without an answer, the server returned: %q\n", cutText(reply, 1000))
	}
	fmt.Fprintf(&b, "Answer with %s%s%s {\"question\": %q, %s}; \"decline\": true declines.", s.cfg.Name, tools.ForeignSeparator, answerName, q.id, answer)
	return b.String()
}

// questionKeySize is the size of the key of question ids.
const questionKeySize = sha256.Size

// modeOf returns the mode of a request.
func modeOf(p *mcp.ElicitParams) string { return cmp.Or(p.Mode, "form") }

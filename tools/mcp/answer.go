package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/platform/provenance"
	"hob/tools"
)

// answerName is the name of the tool that answers the questions of a server.
const answerName = "answer_question"

// answerTool answers a question of a server after the user's approval, and repeats or resumes the
// call.
type answerTool struct {
	s    *server
	spec tools.Spec
}

const answerSchema = `{"type":"object","properties":{"question":{"type":"string"},"answers":{"type":"object"},"url":{"type":"string"},"decline":{"type":"boolean"}},"required":["question"],"additionalProperties":false}`

func newAnswerTool(s *server) *answerTool {
	return &answerTool{s, tools.Spec{
		Name: s.cfg.Name + tools.ForeignSeparator + answerName, Category: Category, Foreign: true, Remote: true,
		Description: "Answer the question that this MCP server asked during a call, in the user's words.",
		Effects:     tools.Send, Schema: func() json.RawMessage { return json.RawMessage(answerSchema) },
		Timeout: s.cfg.Timeout.Duration + modernTimeout + connectTimeout + listTimeout,
	}}
}

// Spec implements tools.Tool.
func (t *answerTool) Spec() *tools.Spec { return &t.spec }

// answerArgs contains the arguments of an answer.
type answerArgs struct {
	Question string         `json:"question"`
	Answers  map[string]any `json:"answers"`
	URL      string         `json:"url"`
	Decline  bool           `json:"decline"`
}

// readAnswer returns the question of a call and the complete content for each form, keyed by
// digest.
func (t *answerTool) readAnswer(args json.RawMessage) (q *question, in answerArgs, content map[string]map[string]any, defaults []string, err error) {
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, in, nil, nil, tools.Errorf(tools.InvalidArguments, "%s: %v", tools.Clean(t.spec.Name), tools.CleanErr(err))
	}
	q = t.s.findQuestion(in.Question)
	if q == nil {
		return nil, in, nil, nil, tools.Errorf(tools.NotFound, "the question %q of the MCP server %s is no longer open: it expired, it was answered, or Hob was restarted; call the server's tool again to get a new question", cutText(in.Question, 40), tools.Clean(t.s.cfg.Name))
	}
	content = map[string]map[string]any{}
	if in.Decline {
		return q, in, content, nil, nil
	}
	for _, f := range q.forms {
		answers := in.Answers
		if len(q.forms) > 1 && f.url == "" {
			answers, _ = in.Answers[f.key].(map[string]any)
		}
		if f.url != "" && in.URL != f.url {
			return nil, in, nil, nil, tools.Errorf(tools.InvalidArguments, "%s: set url to the address in the question, so that the user sees it", tools.Clean(t.spec.Name))
		}
		full, added, err := f.completeAnswers(answers)
		if err != nil {
			return nil, in, nil, nil, &tools.Error{Code: tools.InvalidArguments, Message: t.spec.Name + ": " + cutText(err.Error(), 500), Source: provenance.Outside}
		}
		content[f.digest] = full
		defaults = append(defaults, added...)
	}
	return q, in, content, defaults, nil
}

// maxShown is the maximum size in characters of a summary that approval requests show in full.
const maxShown = 590

// Check implements tools.Checker.
func (t *answerTool) Check(args json.RawMessage) error {
	if _, _, _, _, err := t.readAnswer(args); err != nil {
		return err
	}
	if len([]rune(t.Summary(args))) > maxShown {
		return tools.Errorf(tools.InvalidArguments, "%s: the approval request would be too long; give a value for each field, or decline", tools.Clean(t.spec.Name))
	}
	return nil
}

// Summary implements tools.Summarizer. It quotes the server. The answers are in the arguments, which
// an approval request shows in full.
func (t *answerTool) Summary(args json.RawMessage) string {
	q, in, _, defaults, err := t.readAnswer(args)
	if err != nil {
		return fmt.Sprintf("Answer a question of the MCP server %s", t.s.cfg.Name)
	}
	var asked []string
	hosts := ""
	for _, f := range q.forms {
		asked = append(asked, fmt.Sprintf("%q", f.message))
		if f.url != "" {
			hosts = f.hostText
		}
	}
	text := strings.Join(asked, " and ")
	switch {
	case in.Decline:
		return fmt.Sprintf("Decline the question of the MCP server %s, which asks: %s", t.s.cfg.Name, text)
	case hosts != "":
		return fmt.Sprintf("The MCP server %s asks you to open the address below (%s). Its message: %s. Approve only after you have opened the address yourself and finished on that page; Hob then repeats %s", t.s.cfg.Name, hosts, text, q.tool)
	}
	if len(defaults) > 0 {
		text += "; the server's own values: " + strings.Join(defaults, ", ")
	}
	return fmt.Sprintf("Send these answers to the MCP server %s and continue %s. It asks: %s", t.s.cfg.Name, q.tool, text)
}

// Call implements tools.Tool.
func (t *answerTool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	q, in, content, _, err := t.readAnswer(c.Args)
	if err != nil {
		return tools.Result{}, err
	}
	p := t.s.pinOf(q.tool)
	if q.session != conversationOf(c) {
		return tools.Result{}, tools.Errorf(tools.NotFound, "the MCP server %s asked this question in another conversation; answer in that conversation", tools.Clean(t.s.cfg.Name))
	}
	if p == nil {
		return tools.Result{}, tools.Errorf(tools.NotFound, "the MCP server %s no longer offers %s", tools.Clean(t.s.cfg.Name), tools.Clean(q.tool))
	}
	r := &callRound{given: map[string]map[string]any{}, declined: map[string]bool{}}
	maps.Copy(r.given, q.given)
	if q.resumes {
		r.state, r.responses = q.state, mcp.InputResponseMap{}
	}
	for _, f := range q.forms {
		answer := &mcp.ElicitResult{Action: "accept", Content: content[f.digest]}
		switch {
		case in.Decline:
			answer = &mcp.ElicitResult{Action: "decline"}
			r.declined[f.digest] = true
		case !q.resumes:
			r.given[f.digest] = content[f.digest]
		}
		if q.resumes {
			r.responses[f.key] = answer
		}
	}
	c.Args = q.args
	forget := func() {
		t.s.mu.Lock()
		delete(t.s.questions, q.id)
		t.s.mu.Unlock()
	}
	if q.open != nil {
		f := q.forms[0]
		answer := &mcp.ElicitResult{Action: "accept", Content: content[f.digest]}
		if in.Decline {
			answer = &mcp.ElicitResult{Action: "decline"}
		}
		if q.open.giveAnswer(f.digest, answer, c.Progress) {
			forget()
			return newTool(t.s, p).awaitRound(ctx, c, q.open)
		}
	}
	return newTool(t.s, p).callServer(ctx, c, r, forget)
}

package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
	"hob/platform/text/lazyregexp"
)

// Limits of the stored data of a call.
const (
	maxCalls  = 2_000
	maxInput  = 256 << 10
	maxResult = 16_000
)

// toolCall is a tool call in the protocol, either complete or as an update
// (https://agentclientprotocol.com/protocol/tool-calls).
type toolCall struct {
	ID        string                 `json:"toolCallId"`
	Title     *string                `json:"title"`
	Kind      *string                `json:"kind"`
	Status    *string                `json:"status"`
	Content   []sdk.ToolCallContent  `json:"content"`
	Locations []sdk.ToolCallLocation `json:"locations"`
	RawInput  json.RawMessage        `json:"rawInput"`
	RawOutput json.RawMessage        `json:"rawOutput"`
}

// call holds the last reported state of a tool call.
type call struct{ toolCall }

// applyUpdate applies an update to the call.
func (c *call) applyUpdate(u toolCall) {
	c.ID = u.ID
	c.Title, c.Kind, c.Status = cmp.Or(u.Title, c.Title), cmp.Or(u.Kind, c.Kind), cmp.Or(u.Status, c.Status)
	if u.Content != nil {
		c.Content = u.Content
	}
	if u.Locations != nil {
		c.Locations = u.Locations
	}
	if isPresent(u.RawInput) {
		c.RawInput = u.RawInput
	}
	if isPresent(u.RawOutput) {
		c.RawOutput = u.RawOutput
	}
}

func isPresent(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}"
}

// recordCall stores a call and reports it. If there are too many calls, it returns nil.
func (t *promptTurn) recordCall(u toolCall) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.storeCall(u)
	if c == nil {
		return nil
	}
	a := c.toAction(t.o)
	t.in.putItem(item{action: &a})
	return c
}

// storeCall stores a call or an update. The caller holds t.mu.
func (t *promptTurn) storeCall(u toolCall) *call {
	c := t.calls[u.ID]
	if c == nil {
		if u.ID == "" || len(u.ID) > 512 || len(t.calls) >= maxCalls {
			return nil
		}
		c = &call{}
		t.calls[u.ID] = c
	}
	c.applyUpdate(u)
	if c.claimedEffects() != llm.Reads && c.hasBegun() {
		t.acted = true
	}
	close(t.grew)
	t.grew = make(chan struct{})
	return c
}

// hasBegun reports whether the call runs or has run.
func (c *call) hasBegun() bool {
	return c.Status != nil && *c.Status != string(sdk.ToolCallStatusPending)
}

// hasContent reports whether the call has content to show.
func (c *call) hasContent() bool { return c != nil && (c.Kind != nil || isPresent(c.RawInput)) }

// toAction converts the call for Hob's permission broker.
func (c *call) toAction(o Options) llm.Action {
	a := llm.Action{ID: c.ID, By: o.Provider, Kind: c.kindOf(), Does: c.claimedEffects(), Args: c.displayArgs(o.Provider)}
	if c.Title != nil {
		a.Title = singleLine(*c.Title, 200)
	}
	for _, p := range c.namedPaths() {
		a.Beyond = a.Beyond || !isInside(o.Dir, p)
	}
	if c.Status != nil {
		switch sdk.ToolCallStatus(*c.Status) {
		case sdk.ToolCallStatusPending:
		case sdk.ToolCallStatusCompleted:
			a.State, a.Result = llm.Ended, c.resultText()
		case sdk.ToolCallStatusFailed:
			a.State, a.Result = llm.Failed, c.resultText()
		default:
			a.State = llm.Begun
		}
	}
	return a
}

// kindOf returns the protocol kind of the call, or "other" if it is unknown.
func (c *call) kindOf() string {
	if c.Kind == nil {
		return string(sdk.ToolKindOther)
	}
	switch k := sdk.ToolKind(*c.Kind); k {
	case sdk.ToolKindRead, sdk.ToolKindEdit, sdk.ToolKindDelete, sdk.ToolKindMove, sdk.ToolKindSearch, sdk.ToolKindExecute, sdk.ToolKindThink,
		sdk.ToolKindFetch, sdk.ToolKindSwitchMode:
		return string(k)
	}
	return string(sdk.ToolKindOther)
}

// Argument names that indicate an effect better than the kind does.
var (
	runWord   = lazyregexp.New(`(?i)"(command|cmd|script|shell|argv)"\s*:`)
	fetchWord = lazyregexp.New(`(?i)"(url|urls|uri)"\s*:|"https?://`)
)

// claimedEffects returns the possible effects of the call. The kind is only the agent's claim, so
// arguments that indicate more effects are included too.
func (c *call) claimedEffects() llm.Effects {
	var e llm.Effects
	switch sdk.ToolKind(c.kindOf()) {
	case sdk.ToolKindRead, sdk.ToolKindSearch, sdk.ToolKindThink:
		e = llm.Reads
	case sdk.ToolKindEdit, sdk.ToolKindMove:
		e = llm.Writes
	case sdk.ToolKindDelete:
		e = llm.Destroys
	case sdk.ToolKindExecute:
		e = llm.Runs
	case sdk.ToolKindFetch:
		e = llm.Fetches
	default:
		e = llm.Unclear
	}
	if runWord.Match(c.RawInput) {
		e |= llm.Runs
	}
	if e == llm.Reads && fetchWord.Match(c.RawInput) {
		e |= llm.Fetches
	}
	if slices.ContainsFunc(c.Content, func(x sdk.ToolCallContent) bool { return x.Diff != nil }) {
		e |= llm.Writes
	}
	return e
}

// displayArgs returns the agent's description of the action, for display to the user.
func (c *call) displayArgs(agent string) json.RawMessage {
	type change struct {
		Path string  `json:"path"`
		Old  *string `json:"old,omitempty"`
		New  string  `json:"new"`
	}
	v := struct {
		Agent string          `json:"agent"`
		Title string          `json:"title,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`
		Paths []string        `json:"paths,omitempty"`
		Edit  []change        `json:"edit,omitempty"`
		Text  string          `json:"text,omitempty"`
	}{Agent: agent, Paths: c.namedPaths()}
	if c.Title != nil {
		v.Title = *c.Title
	}
	if isPresent(c.RawInput) {
		v.Input = c.RawInput
	}
	for _, x := range c.Content {
		switch {
		case x.Diff != nil:
			v.Edit = append(v.Edit, change{x.Diff.Path, x.Diff.OldText, x.Diff.NewText})
		case x.Content != nil && !c.hasEnded():
			v.Text += textOf(x.Content.Content)
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)              // people read the text
	if err := enc.Encode(v); err != nil { // RawInput was decoded, so it can be encoded
		return json.RawMessage(`{}`)
	}
	b := bytes.TrimSpace(out.Bytes())
	if len(b) > maxInput {
		b, _ = json.Marshal(map[string]string{"agent": agent, "title": singleLine(v.Title, 200), "input": fmt.Sprintf("(%d bytes, too long to be shown)", len(b))}) // strings can always be encoded
	}
	return b
}

func (c *call) tooLong() bool { return len(c.displayArgs("")) > maxInput || c.storedSize() > maxInput }

func (c *call) storedSize() int {
	n := len(c.RawInput)
	for _, x := range c.Content {
		if x.Diff != nil {
			n += len(x.Diff.NewText)
			if x.Diff.OldText != nil {
				n += len(*x.Diff.OldText)
			}
		}
	}
	return n
}

func (c *call) hasEnded() bool {
	return c.Status != nil && (*c.Status == string(sdk.ToolCallStatusCompleted) || *c.Status == string(sdk.ToolCallStatusFailed))
}

// namedPaths lists the files that the agent names in the call.
func (c *call) namedPaths() []string {
	var out []string
	add := func(p string) {
		if p != "" && len(out) < 50 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, l := range c.Locations {
		add(l.Path)
	}
	for _, x := range c.Content {
		if x.Diff != nil {
			add(x.Diff.Path)
		}
	}
	return out
}

// isInside reports whether path is inside dir, after resolving the existing links in both.
func isInside(dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(resolveLinks(dir), resolveLinks(path))
	return err == nil && filepath.IsLocal(rel)
}

// resolveLinks resolves the links in the existing part of a path.
func resolveLinks(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for p := path; ; {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(r, rest)
		}
		up := filepath.Dir(p)
		if up == p {
			return path
		}
		rest, p = filepath.Join(filepath.Base(p), rest), up
	}
}

// resultText returns the result of the call as text.
func (c *call) resultText() string {
	var b strings.Builder
	for _, x := range c.Content {
		switch {
		case x.Content != nil:
			b.WriteString(textOf(x.Content.Content) + "\n")
		case x.Diff != nil:
			b.WriteString("changed " + x.Diff.Path + "\n")
		}
		if b.Len() > 2*maxResult {
			break
		}
	}
	if strings.TrimSpace(b.String()) == "" && isPresent(c.RawOutput) {
		b.Write(c.RawOutput[:min(len(c.RawOutput), maxResult)])
	}
	s := strings.ToValidUTF8(strings.TrimSpace(b.String()), "\uFFFD")
	if len(s) > maxResult {
		s = strings.ToValidUTF8(s[:maxResult], "") + " […]"
	}
	return s
}

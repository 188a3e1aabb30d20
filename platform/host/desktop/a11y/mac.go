package a11y

import (
	"context"
	_ "embed" // embeds the scripts
	"errors"
	"fmt"
	"time"

	"hob/platform/host/osrun"
)

// Scripts for macOS. They use System Events, which gives programs with the Accessibility permission
// access to the content of windows.
var (
	//go:embed mac.js
	macShared string
	//go:embed macread.js
	macReadText string
	//go:embed macact.js
	macActText string
)

func macReadScript() osrun.Script {
	return osrun.NewScript("desktop/tree/read.js", macShared, macReadText)
}

func macActScript() osrun.Script {
	return osrun.NewScript("desktop/tree/act.js", macShared, macActText)
}

func systemEvents() osrun.App {
	return osrun.App{ID: "com.apple.systemevents", Name: "System Events"}
}

// Limits of a script that reads the tree. Each element costs several Apple events, so the script
// stops on its own after scriptMillis, before Hob would kill it.
const (
	scriptDepth  = 8
	scriptMillis = 10_000
	scriptWait   = 18 * time.Second // including the start of the script interpreter
)

type scriptRead struct {
	Words  string   `json:"words"`
	Frames []uint64 `json:"windows,omitempty"`
	Nodes  int      `json:"nodes"`
	Depth  int      `json:"depth"`
	Kids   int      `json:"kids"`
	Text   int      `json:"text"`
	Millis int      `json:"millis"`
}

func scriptBounds() scriptRead {
	return scriptRead{Nodes: MaxNodes, Depth: scriptDepth, Kids: maxKids, Text: maxText, Millis: scriptMillis}
}

// scriptNode is an element in the output of the scripts for macOS and Windows.
type scriptNode struct {
	App    string `json:"app"`
	PID    int    `json:"pid"`
	Window string `json:"window"`
	Path   string `json:"path"`
	Depth  int    `json:"depth"`
	Role   string `json:"role"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Does   string `json:"does"`
	Takes  bool   `json:"takes"`
	Secret bool   `json:"secret"`
}

type scriptTree struct {
	List []scriptNode `json:"list"`
	More bool         `json:"more"`
}

func (t scriptTree) toNodes() ([]Node, bool) {
	var out []Node
	for _, n := range t.List[:min(len(t.List), MaxNodes)] {
		v := Node{Ref: n.Path, App: n.App, PID: n.PID, Window: truncateText(n.Window), Depth: n.Depth, Role: truncateText(n.Role), Name: truncateText(n.Name), Text: truncateText(n.Text), Does: truncateText(n.Does), Takes: n.Takes && !n.Secret, Secret: n.Secret}
		if v.Secret || v.Text == v.Name {
			v.Text = ""
		}
		out = append(out, v)
	}
	return out, t.More || len(t.List) > MaxNodes
}

func macRead(ctx context.Context, r osrun.Runner, words string) ([]Node, bool, error) {
	in := scriptBounds()
	in.Words = words
	var t scriptTree
	if err := r.Run(ctx, osrun.Call{Script: macReadScript(), App: systemEvents(), In: in, Start: true, Wait: scriptWait}, &t); err != nil {
		return nil, false, scriptError(err)
	}
	list, more := t.toNodes()
	return list, more, nil
}

// scriptAct is an action on an element. It is performed only if the element is unchanged.
type scriptAct struct {
	PID    int     `json:"pid"`
	Window string  `json:"window"`
	Path   string  `json:"path"`
	Role   string  `json:"role"`
	Name   string  `json:"name"`
	Does   string  `json:"does"`
	Fill   bool    `json:"fill"`
	Text   *string `json:"text,omitempty"`
}

func newAct(n Node, text *string) scriptAct {
	return scriptAct{PID: n.PID, Window: n.Window, Path: n.Ref, Role: n.Role, Name: n.Name, Does: n.Does, Fill: text != nil, Text: text}
}

func macAct(ctx context.Context, r osrun.Runner, n Node, text *string) error {
	return scriptError(r.Run(ctx, osrun.Call{Script: macActScript(), App: systemEvents(), In: newAct(n, text), Start: true, Write: true, Wait: scriptWait}, nil))
}

// scriptError wraps err with ErrGone or ErrNot. It returns err unchanged if the action may have
// been performed.
func scriptError(err error) error {
	if k := osrun.KindOf(err); k == osrun.Changed || k == osrun.NotFound {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err != nil && !osrun.IsUncertain(err) {
		return fmt.Errorf("%w: %w", ErrNot, err)
	}
	return err
}

// ErrNot means that an element was not changed.
var ErrNot = errors.New("nothing was done")

package a11y

import (
	"context"
	_ "embed" // embeds the scripts
	"strings"

	"hob/platform/host/desktop/window"
	"hob/platform/host/osrun"
)

// Scripts for Windows, which use UI Automation.
var (
	//go:embed uia.ps1
	uiaShared string
	//go:embed uiaread.ps1
	uiaReadText string
	//go:embed uiaact.ps1
	uiaActText string
)

func uiaReadScript() osrun.Script {
	return osrun.NewScript("desktop/tree/read.ps1", uiaShared, uiaReadText)
}

func uiaActScript() osrun.Script {
	return osrun.NewScript("desktop/tree/act.ps1", uiaShared, uiaActText)
}

const (
	uiaDepth = 25 // PowerShell limits the recursion depth
	// maxFrames is the maximum number of windows that one call reads.
	maxFrames = 4
)

// matchWindows returns the windows that match words, or the active window if words is empty.
func matchWindows(list []window.Window, words string) (out []window.Window) {
	words = strings.ToLower(strings.TrimSpace(words))
	for _, w := range list {
		switch {
		case len(out) == maxFrames:
			return out
		case words == "" && w.Active,
			words != "" && !w.Notice && w.Title != "" && strings.Contains(strings.ToLower(w.Title)+" "+w.App, words):
			out = append(out, w)
		}
	}
	return out
}

type uiaNode struct {
	scriptNode
	Frame int `json:"window"`
}

type uiaTree struct {
	List []uiaNode `json:"list"`
	More bool      `json:"more"`
	Gone int       `json:"gone"` // number of windows closed during the read
}

func uiaRead(ctx context.Context, r osrun.Runner, frames []window.Window) ([]Node, bool, error) {
	if len(frames) == 0 {
		return nil, false, nil
	}
	in := scriptBounds()
	in.Depth = uiaDepth
	for _, w := range frames {
		in.Frames = append(in.Frames, w.ID)
	}
	var t uiaTree
	if err := r.Run(ctx, osrun.Call{Script: uiaReadScript(), In: in, Wait: scriptWait}, &t); err != nil {
		return nil, false, scriptError(err)
	}
	if len(t.List) == 0 && t.Gone > 0 {
		return nil, false, ErrGone
	}
	plain := scriptTree{More: t.More}
	for _, n := range t.List {
		if n.Frame < 0 || n.Frame >= len(frames) {
			continue
		}
		w := frames[n.Frame]
		n.App, n.PID, n.Window = w.App, w.PID, w.Title
		plain.List = append(plain.List, n.scriptNode)
	}
	list, more := plain.toNodes()
	return list, more, nil
}

func uiaAct(ctx context.Context, r osrun.Runner, n Node, text *string) error {
	return scriptError(r.Run(ctx, osrun.Call{Script: uiaActScript(), In: newAct(n, text), Write: true, Wait: scriptWait}, nil))
}

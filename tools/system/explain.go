package system

import (
	"context"
	"strings"

	"hob/platform/text/textnorm"
	"hob/tools"
)

type explainIn struct {
	What  string `json:"what,omitempty" jsonschema:"event (default), tick, notification, or silence: why no notification was sent"`
	About string `json:"about,omitempty" jsonschema:"id; for silence also words (Ada invoice), a watcher or goal, since TIME; empty: the last one, for silence all"`
}

func explainTool(e Engine) tools.Tool {
	return tools.New(tools.Def[explainIn]{
		Spec: tools.Spec{
			Name: "explain", Category: "system", Effects: tools.Read,
			Description: "Say why Hob did or said something, or why it sent no notification.",
			Keywords:    "why reason explanation trace silence silent not told missed rule decided",
		},
		Summary: func(in explainIn) string {
			return strings.TrimSpace("Explain " + textnorm.Ellipsize(strings.TrimSpace(in.What+" "+in.About), 100))
		},
		Run: func(ctx context.Context, c tools.Call, in explainIn) (tools.Result, error) {
			r := tools.ExplainRequest{Kind: strings.ToLower(strings.TrimSpace(in.What)), About: strings.TrimSpace(in.About), Session: c.Session, Asked: c.Event}
			if strings.HasPrefix(c.Session, "tool:") { // a call that the owner made directly has no conversation
				r.Session, r.Asked = "", ""
			}
			return e.Explain(ctx, r)
		},
	})
}

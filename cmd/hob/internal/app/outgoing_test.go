package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// A tool prepares a file outside a transaction, so that other writers do not wait.
func TestSend_FileIsCopiedOutsideTheTransaction(t *testing.T) {
	p := newPigeon(0)
	var h *daemonFixture
	type none struct{}
	copies := tools.New(tools.Def[none]{
		Spec: tools.Spec{Name: "copy_slowly", Category: "social", Effects: tools.Read, Description: "Copy."},
		Prepare: func(ctx context.Context, _ tools.Call, _ none) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return "copied", h.d.store.Write(ctx, func(*store.Tx) error { return nil })
		},
		RunTx: func(_ context.Context, _ *store.Tx, c tools.Call, _ none) (tools.Result, error) {
			if c.Prepared != "copied" {
				return tools.Result{}, errors.New("nothing was prepared")
			}
			return tools.Result{Source: provenance.Tool, Text: "it is copied"}, nil
		},
	})
	h = openWithChannel(t, p, "", func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) == 0 {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"copy_slowly","arguments":{}}`}}}
		}
		return llmtest.Answer{Text: "done: " + r.Results[0].Text}
	}, copies)
	p.receiveMessage(t, channels.Inbound{Text: "copy it"})
	p.awaitReply(t, "done: it is copied")
}

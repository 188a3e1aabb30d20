package turn

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"hob/tools"
)

// The end of an external agent's turn stops the tool that it left running.
func TestBroker_StopsARunningToolAtTheEnd(t *testing.T) {
	r := newRun(t)
	started, ended := make(chan struct{}), make(chan error, 1)
	slow := tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{Name: "slow", Category: "test", Description: "Wait.", Effects: tools.Read},
		Run: func(ctx context.Context, _ tools.Call, _ struct{}) (tools.Result, error) {
			close(started)
			select {
			case <-ctx.Done():
			case <-time.After(60 * time.Second):
			}
			ended <- ctx.Err()
			return tools.Result{}, ctx.Err()
		},
	})
	catalog, err := tools.NewCatalog(slow)
	if err != nil {
		t.Fatal(err)
	}
	r.o.Catalog, r.o.Log = catalog, slog.New(slog.DiscardHandler)
	r.chain.links = r.buildChain(t.Context())
	d, leave := r.agent.newBroker(t.Context())
	called := make(chan struct{})
	go func() {
		defer close(called)
		_, _ = d.callTool(t.Context(), "slow", []byte("{}")) // the outcome depends on whether the tool or the turn ends first
	}()
	<-started
	leave()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the turn waited for the tool")
		}
	default:
		t.Error("the tool still runs after the end of the turn")
	}
	<-called
	if _, err := d.callTool(t.Context(), "slow", []byte("{}")); err == nil {
		t.Error("a call started after the end of the turn")
	}
}

package service

import (
	"context"
	"strings"

	"hob/autonomy/api"
	"hob/channels"
	"hob/tools"
)

// Receiver receives messages from channels, and answers /pair. It is created before the service, because the service
// needs the channels. The channels run later.
type Receiver struct{ service func() *Service }

// NewReceiver returns a Receiver. service returns the service, which may be created after the
// channels, but before they run.
func NewReceiver(service func() *Service) Receiver { return Receiver{service} }

// Receive implements channels.Receiver.
func (r Receiver) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	return r.service().Receive(ctx, in)
}

// Known implements channels.DuplicateChecker.
func (r Receiver) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return r.service().Known(ctx, in)
}

// Overhear implements channels.RejectionObserver.
func (r Receiver) Overhear(ctx context.Context, in channels.Inbound) error {
	return r.service().Overhear(ctx, in)
}

// PairingText implements commands.Pairing.
func (r Receiver) PairingText(ctx context.Context, channel, by string) (string, error) {
	return r.service().PairingText(ctx, channel, by)
}

// ToolEngine implements system.Engine for the tools about Hob itself. It is created before the
// service, like Receiver.
type ToolEngine struct{ service func() *Service }

// NewToolEngine returns a ToolEngine. service returns the service, which must exist before the
// tools are called.
func NewToolEngine(service func() *Service) ToolEngine { return ToolEngine{service} }

// Status implements system.Engine.
func (e ToolEngine) Status(ctx context.Context) (api.Status, error) { return e.service().Status(ctx) }

// Undo implements system.Engine.
func (e ToolEngine) Undo(ctx context.Context, r tools.UndoRequest) (tools.Result, error) {
	return e.service().o.Undo.Undo(ctx, r)
}

// Undoable implements system.Engine.
func (e ToolEngine) Undoable(ctx context.Context, r tools.UndoRequest) (labels []string, at string, err error) {
	sv := e.service()
	if r.Session == "" && r.By != "" {
		ev, err := sv.o.Bus.Inbox.Event(ctx, r.By)
		if err != nil {
			return nil, "", err
		}
		if r.Session = ev.Session; strings.HasPrefix(r.Session, "tool:") {
			r.Session, r.Origin = "", "tool"
		}
	}
	list, err := sv.o.Undo.Undoable(ctx, r)
	for _, a := range list {
		labels = append(labels, a.UndoLabel)
	}
	if len(list) > 0 {
		at = sv.o.Undo.FormatTime(list[0])
	}
	return labels, at, err
}

// Explain implements system.Engine.
func (e ToolEngine) Explain(ctx context.Context, r tools.ExplainRequest) (tools.Result, error) {
	return e.service().o.Explain.ExplainForTool(ctx, r)
}

// Usage implements system.Engine.
func (e ToolEngine) Usage(ctx context.Context, q api.Query) ([]api.UsageRow, error) {
	return e.service().Usage(ctx, q)
}

// Budget implements system.Engine.
func (e ToolEngine) Budget(ctx context.Context) ([]api.BudgetRow, error) {
	return e.service().Budget(ctx)
}

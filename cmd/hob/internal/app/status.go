package app

import (
	"context"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
	"hob/autonomy/explain"
	"hob/autonomy/undo"
	"hob/tools"
	toolsystem "hob/tools/system"
)

// Status implements the status tool's Engine.
func (d *App) Status(ctx context.Context) (api.Status, error) { return d.service.Status(ctx) }

// Undo implements the undo tool's Engine.
func (d *App) Undo(ctx context.Context, r toolsystem.UndoRequest) (tools.Result, error) {
	return d.undo.Undo(ctx, undo.Request(r))
}

// Undoable implements the undo tool's Engine.
func (d *App) Undoable(ctx context.Context, r toolsystem.UndoRequest) (int, error) {
	list, err := d.undo.Undoable(ctx, undo.Request(r))
	return len(list), err
}

// Explain implements the explain tool's Engine.
func (d *App) Explain(ctx context.Context, r toolsystem.ExplainRequest) (tools.Result, error) {
	return d.explainer.ExplainForTool(ctx, explain.Question(r))
}

// commandTools returns the tools behind the owner's commands.
func (d *App) commandTools() []tools.Tool {
	return []tools.Tool{toolsystem.ChangeConfig(d.configCopies())}
}

func (d *App) configCopies() config.Revisions {
	return config.Revisions{Path: d.opt.Paths.ConfigFile(), Dir: d.opt.Paths.ConfigUndoDir()}
}

func (d *App) statusText(ctx context.Context) (string, error) {
	r, err := d.Status(ctx)
	r.Running = max(0, r.Running-1) // who asks is not meant
	return toolsystem.FormatStatus(r, time.Now().In(d.zone())), err
}

package app

import (
	"context"
	"os"

	"hob/knowledge/graph"
	"hob/platform/host/system"
)

// openGraph creates the graph of people and other entities.
func (d *App) openGraph(context.Context) (err error) {
	d.graph, err = graph.New(graph.Options{
		Store: d.store, Region: func() string { return system.Country(os.Getenv, d.zone().String()) }, Log: d.opt.Log,
	})
	return err
}

// followDocs keeps the graph in step with the documents.
func (d *App) followDocs(ctx context.Context) error { return d.graph.Run(ctx, d.base) }

// expireFacts retires facts whose time is over.
func (d *App) expireFacts(ctx context.Context) error { return d.base.RunExpiry(ctx, d.opt.Log) }

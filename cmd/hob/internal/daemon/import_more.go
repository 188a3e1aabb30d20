package daemon

import (
	"context"
	"fmt"

	"hob/channels/web"
	"hob/knowledge/port"
)

func (x exporter) graph(context.Context) error { return nil }

func (x exporter) documents(context.Context) error { return nil }

func (p putting) graph(port.Record) (bool, error) { return false, nil }

func (im *importer) documents(context.Context) error {
	return fmt.Errorf("%w: %s is a %s, which cannot be taken in yet", web.ErrInvalid, im.name, im.src.Format)
}

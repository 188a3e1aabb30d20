package daemon

import (
	"context"
	"fmt"

	"hob/channels/web"
)

func (x exporter) documents(context.Context) error { return nil }

func (im *importer) documents(context.Context) error {
	return fmt.Errorf("%w: %s is a %s, which cannot be taken in yet", web.ErrInvalid, im.name, im.src.Format)
}

package daemon

import (
	"context"
	"errors"
	"io"

	"hob/channels/web"
)

// MemoryExport implements web.Memory.
func (b *backend) MemoryExport(context.Context, io.Writer, string, bool) error {
	return errors.ErrUnsupported
}

// MemoryImport implements web.Memory.
func (b *backend) MemoryImport(context.Context, web.MemoryImport, func(any)) error {
	return errors.ErrUnsupported
}

// MemoryReindex implements web.Memory.
func (b *backend) MemoryReindex(context.Context, func(any)) error { return errors.ErrUnsupported }

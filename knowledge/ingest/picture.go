package ingest

import (
	"context"
	"fmt"

	"hob/platform/document"
	"hob/platform/provenance"
)

// picture lets a model describe an image. The description is untrusted even for the user's own
// files, because text in the image may come from anyone.
func (l *Library) picture(ctx context.Context, in *Input) (document.File, error) {
	if err := l.ready(ctx); err != nil {
		return document.File{}, fmt.Errorf("%w: the file is an image, and %w", document.ErrUnsupported, err)
	}
	if in.Dry {
		return document.File{}, fmt.Errorf("%w: the file is an image, and describing one needs a model", document.ErrUnsupported)
	}
	text, err := l.opt.Pictures.Describe(ctx, in.Content)
	if err != nil {
		return document.File{}, fmt.Errorf("%w: the file is an image: %w", document.ErrUnsupported, err)
	}
	in.Provenance = provenance.Outside
	return document.File{Kind: "image", Documents: []document.Document{{Kind: "image", Sections: []document.Section{{Text: text}}}}}, nil
}

// ready returns why no image can be described now, or nil.
func (l *Library) ready(ctx context.Context) error {
	if l.opt.Pictures == nil {
		return fmt.Errorf("[knowledge] pictures is off; %w", ErrLater)
	}
	return l.opt.Pictures.Ready(ctx)
}

// waiting returns the stored error of a deferred file until its retry is due, so that the file is
// not even read before.
func (l *Library) waiting(ctx context.Context, k *kept, e Entry) error {
	if k == nil || k.failed == "" || len(k.digest) > 0 || k.size != e.Size || k.mtime != stamp(e.Modified) || l.ready(ctx) == nil {
		return nil
	}
	return waits(k.failed)
}

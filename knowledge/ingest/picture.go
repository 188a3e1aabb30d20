package ingest

import (
	"context"
	"fmt"

	"hob/platform/document"
	"hob/platform/provenance"
)

// picture has a model say what is on it. What it says follows from what somebody
// painted or wrote there, so that it is outside text whoever's file it is.
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

// ready says why no picture can be described now.
func (l *Library) ready(ctx context.Context) error {
	if l.opt.Pictures == nil {
		return fmt.Errorf("[knowledge] pictures is off; %w", ErrLater)
	}
	return l.opt.Pictures.Ready(ctx)
}

// waiting is the error of a file that was left for later, while it still has to
// wait: it is not even read then.
func (l *Library) waiting(ctx context.Context, k *kept, e Entry) error {
	if k == nil || k.failed == "" || len(k.digest) > 0 || k.size != e.Size || k.mtime != stamp(e.Modified) || l.ready(ctx) == nil {
		return nil
	}
	return waits(k.failed)
}

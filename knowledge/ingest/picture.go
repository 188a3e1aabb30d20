package ingest

import (
	"context"
	"fmt"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/document"
)

// describePicture lets a model describe an image. The description is untrusted even for the user's own
// files, because text in the image may come from anyone.
func (l *Library) describePicture(ctx context.Context, in *Input) (document.File, error) {
	if err := l.checkDescriber(ctx); err != nil {
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

// checkDescriber returns nil, or the reason why no image can be described now.
func (l *Library) checkDescriber(ctx context.Context) error {
	if l.opt.Pictures == nil {
		return fmt.Errorf("[knowledge] pictures is off; %w", ErrLater)
	}
	return l.opt.Pictures.Ready(ctx)
}

// deferralError returns the stored error of a deferred file until the next attempt is due. Until
// then the file is not read.
func (l *Library) deferralError(ctx context.Context, k *storedSource, e knowledge.File) error {
	if k == nil || k.failed == "" || len(k.digest) > 0 || k.size != e.Size || k.mtime != unixNanos(e.Modified) || l.checkDescriber(ctx) == nil {
		return nil
	}
	return deferredError(k.failed)
}

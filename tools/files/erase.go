package files

import (
	"context"

	"hob/platform/erase"
)

// Eraser removes kept former contents of files that hold a phrase: with a gap in
// it none could be put back as it was. What was written with outside text in view
// stays marked as such, unless its path itself is forgotten; the files are the
// owner's and stay as they are.
func (f *Files) Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "outside_paths", Key: []string{"path"}, Names: []string{"path"}, Text: []string{"list"}},
			{Name: "outside_contents", Key: []string{"digest"}, Text: []string{"list"}},
			{Name: "outside_trees", Key: []string{"path", "id"}, Names: []string{"path"}, Text: []string{"list"}},
			{Name: "vouched_contents", Key: []string{"digest"}},
		},
		Files: func(ctx context.Context, _ *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
			if f.undo.dir == "" {
				return erase.Erased{}, nil
			}
			return erase.RemoveFiles(ctx, f.undo.dir, s)
		},
	}
}

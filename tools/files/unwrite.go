package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"hob/tools"
)

// undoWrite restores the content that a file had before a write_file call, or deletes the file if
// the call created it. It fails if the file no longer has the content that the call wrote, so that
// later edits survive. It checks this when it reads the file and again right before it replaces the
// file. It saves the replaced content for redoWrite.
func (f *Files) undoWrite(ctx context.Context, data json.RawMessage) (string, error) {
	u, s, err := f.openWritten(data)
	if err != nil {
		return "", err
	}
	defer f.mu.Unlock()
	defer s.Close()
	now, err := f.stillIs(s, u.After)
	if err != nil {
		return "", err
	}
	if _, err := f.undo.putContent(now); err != nil && !errors.Is(err, errNotKept) {
		return "", tools.Errorf(tools.Failed, "cannot save the current content of %s, so nothing was undone: %w", s.errorLabel(), err)
	}
	dir, _, err := s.openParent(false)
	if err != nil {
		return "", f.describeFileError("open the folder of", s, err)
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	if u.Created {
		if err := s.checkUnchanged(dir, name); err != nil {
			return "", err
		}
		if err := dir.Remove(name); err != nil {
			return "", f.describeFileError("remove", s, err)
		}
		s.removeCreated(u.Made)
		if err := f.marks.markRestored(ctx, s.abs, nil); err != nil {
			return "", err
		}
		return "Deleted " + s.displayName() + ".", nil
	}
	if err := f.putBack(ctx, s, dir, name, u.Before, u.Mode); err != nil {
		return "", err
	}
	return "Restored the earlier content of " + s.displayName() + ".", nil
}

// redoWrite repeats a write that undoWrite reverted.
func (f *Files) redoWrite(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	u, s, err := f.openWritten(data)
	if err != nil {
		return "", nil, err
	}
	defer f.mu.Unlock()
	defer s.Close()
	if u.Created {
		if s.info != nil {
			return "", nil, tools.Errorf(tools.Conflict, "another file now exists at %s; redo would overwrite that file", s.errorLabel())
		}
	} else if _, err := f.stillIs(s, u.Before); err != nil {
		return "", nil, err
	}
	dir, made, err := s.openParent(true)
	if err != nil {
		return "", nil, f.describeFileError("open the folder of", s, err)
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	if err := f.putBack(ctx, s, dir, name, u.After, u.Mode); err != nil {
		s.removeCreated(made)
		return "", nil, err
	}
	u.Made = made
	data, err = json.Marshal(u)
	return "Wrote " + s.displayName() + " again.", data, err
}

// openWritten decodes undo data and opens its file. If there is no error, the caller must close s
// and unlock f.mu.
func (f *Files) openWritten(data json.RawMessage) (u writeUndo, s *openPath, err error) {
	if err := json.Unmarshal(data, &u); err != nil {
		return u, nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	if s, err = f.openSpot(u.Path); err != nil {
		f.mu.Unlock()
		return u, nil, err
	}
	return u, s, nil
}

// stillIs returns the content of the file. It fails if the digest of the content is not sum.
func (f *Files) stillIs(s *openPath, sum string) ([]byte, error) {
	now, err := s.readContent(f.opt.MaxFile)
	if errors.Is(err, errTooLarge) {
		return nil, changedSince(s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, f.describeFileError("read", s, err)
	}
	if err != nil || contentDigest(now) != sum {
		return nil, changedSince(s)
	}
	return now, nil
}

func changedSince(s *openPath) error {
	return tools.Errorf(tools.Conflict, "%s has changed; undo would overwrite the change", s.errorLabel())
}

// checkUnchanged returns an error if the file has changed since it was inspected.
func (s *openPath) checkUnchanged(dir *os.Root, name string) error {
	now, err := dir.Lstat(name)
	if s.info == nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return changedSince(s)
	}
	if err != nil || !os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) {
		return changedSince(s)
	}
	return nil
}

// putBack writes saved content to the file.
func (f *Files) putBack(ctx context.Context, s *openPath, dir *os.Root, name, sum string, mode *fs.FileMode) error {
	old, err := f.undo.getContent(sum)
	if err != nil {
		return tools.Errorf(tools.NotFound, "the earlier content of %s is no longer available: %w", s.errorLabel(), err)
	}
	if err := s.checkUnchanged(dir, name); err != nil {
		return err
	}
	_, outside, err := f.marks.copyOf(ctx, old)
	if err == nil && outside { // mark the path before writing the content
		err = f.marks.markRestored(ctx, s.abs, old)
	}
	if err != nil {
		return err
	}
	if err := replaceFile(dir, name, old, mode); err != nil {
		return f.describeFileError("write", s, err)
	}
	return f.marks.markRestored(ctx, s.abs, old)
}

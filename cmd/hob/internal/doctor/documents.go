package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/system"
	"hob/platform/text/textnorm"
)

// Document is a document whose import failed, as reported by the running daemon.
type Document struct {
	Source string `json:"source"`
	Error  string `json:"error"`
}

// mostBroken is the maximum number of failed documents that are listed.
const mostBroken = 5

// checkDocuments checks that the folders in [knowledge] folders exist, and reports failed imports.
func checkDocuments(ctx context.Context, e Env) []Check {
	var out []Check
	folders := e.Config.Knowledge.Folders
	for _, f := range folders {
		out = append(out, checkFolder(f)...)
	}
	if e.Documents == nil {
		if len(folders) > 0 && len(out) == 0 {
			return okCheck("documents", textnorm.CountNoun(len(folders), "folder is", "folders are")+" present; their content is checked while Hob is running")
		}
		return out
	}
	list, err := e.Documents(ctx)
	if err != nil {
		return append(out, failWithError("documents", err, "see the log: hob doctor log")...)
	}
	var broken []string
	for _, d := range list {
		broken = append(broken, filepath.Base(strings.TrimPrefix(d.Source, "file:"))+": "+textnorm.Ellipsize(d.Error, 200))
	}
	if n := len(broken); n > 0 {
		said := strings.Join(broken[:min(n, mostBroken)], "; ")
		if n > mostBroken {
			said += fmt.Sprintf("; and %d more", n-mostBroken)
		}
		out = append(out, warnCheck("documents", textnorm.CountNoun(n, "document", "documents")+" could not be imported: "+said, "fix or remove them; list them with: hob memory documents")...)
	}
	if len(out) == 0 && len(folders) > 0 {
		return okCheck("documents", "all documents in "+textnorm.CountNoun(len(folders), "folder", "folders")+" are readable")
	}
	return out
}

// checkFolder checks that a folder is readable.
func checkFolder(path string) []Check {
	dir, err := os.Open(path)
	if err == nil {
		defer func() { _ = dir.Close() }()
		var info fs.FileInfo
		if info, err = dir.Stat(); err == nil && !info.IsDir() {
			return warnCheck("documents", path+" is not a folder", "list the file's folder instead in [knowledge] folders")
		}
	}
	if err == nil {
		if _, err = dir.Readdirnames(1); err != nil && !errors.Is(err, fs.ErrPermission) { // an empty folder is no error
			err = nil
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return warnCheck("documents", "the folder "+path+" does not exist; documents imported from it are kept", "create it, connect its disk, or remove it from [knowledge] folders")
	default:
		return warnCheck("documents", fmt.Sprintf("read folder %s: %v", path, err), "make it readable: chmod u+rx "+system.QuoteForShell(path))
	}
}

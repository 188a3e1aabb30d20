package skills

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/unpack"
	"hob/platform/net/safehttp"
)

// Source reads skills from folders, archives and git repositories.
type Source struct {
	// Network reaches git repositories. Nil means that they cannot be reached.
	Network *safehttp.Client
	// Git is the path of the git program, "" to search for it.
	Git string
}

// Limits of an archive or a repository.
const (
	maxArchive = 32 << 20 // compressed size in bytes
	maxRepo    = 64 << 20 // unpacked size in bytes; a repository may contain many skills
	maxEntries = 10_000
)

// Read reads a skill from place, which is a folder (or its SKILL.md), an archive (.zip, .tar.gz, .tgz) or the https
// address of a git repository. within is the folder of the skill inside the archive or repository;
// it may be "" if there is only one skill.
func (s Source) Read(ctx context.Context, place, within string) (*Candidate, error) {
	within = strings.Trim(path.Clean("/"+filepath.ToSlash(within)), "/")
	if strings.Contains(place, "://") || strings.HasPrefix(place, "git@") {
		c, err := s.readRepository(ctx, place)
		if err != nil {
			return nil, err
		}
		return candidateFrom(c, within, place)
	}
	if filepath.Base(place) == manifestFile {
		place = filepath.Dir(place)
	}
	fi, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s does not exist; give a folder with a SKILL.md file, an archive or the https address of a git repository (see hob skill add --help)", ErrNotFound, shortValue(place))
	case err != nil:
		return nil, err
	case fi.IsDir() && within != "":
		return readCandidate(filepath.Join(place, filepath.FromSlash(within)))
	case fi.IsDir():
		return readCandidate(place)
	}
	return readArchive(place, within, fi)
}

func readArchive(place, within string, fi fs.FileInfo) (*Candidate, error) {
	if !unpack.IsArchive(place) || !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is neither a folder nor an archive (.zip, .tar.gz, .tgz); give a folder with a SKILL.md file (see hob skill add --help)", ErrInvalid, shortValue(place))
	}
	f, err := os.Open(place)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxArchive+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxArchive {
		return nil, fmt.Errorf("%w: the archive is larger than %d MB; make one with this skill only", ErrInvalid, maxArchive>>20)
	}
	c, err := unpack.Read(place, b, unpackLimits())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	abs, err := filepath.Abs(place)
	if err != nil {
		return nil, err
	}
	return candidateFrom(c, within, abs)
}

func unpackLimits() unpack.Limits {
	return unpack.Limits{Unpacked: maxRepo, Entries: maxEntries}
}

// candidateFrom selects the skill in an archive. The top folder of an archive may have a different
// name than the skill, but any other folder must have the skill's name.
func candidateFrom(c unpack.Contents, within, from string) (*Candidate, error) {
	files := c.Within()
	var folders []string
	for name := range files {
		if path.Base(name) == manifestFile {
			folders = append(folders, path.Dir(name))
		}
	}
	slices.Sort(folders)
	at := within
	if at == "" {
		at = "."
	}
	switch {
	case slices.Contains(folders, at):
	case len(folders) == 0:
		return nil, fmt.Errorf("%w: the archive or repository contains no SKILL.md file; choose another archive or repository", ErrInvalid)
	case within == "" && len(folders) == 1:
		at = folders[0]
	case within == "":
		return nil, fmt.Errorf("%w: the archive or repository contains %d skills (%s); choose one with --path", ErrInvalid, len(folders), shortList(folders))
	default:
		return nil, fmt.Errorf("%w: %s contains no SKILL.md; choose one of: %s", ErrInvalid, shortValue(within), shortList(folders))
	}
	t, folder, total := tree{}, "", int64(0)
	if at != "." {
		folder = path.Base(at)
		from += "#" + at
	}
	for name, f := range files {
		rel := name
		if at != "." {
			var ok bool
			if rel, ok = strings.CutPrefix(name, at+"/"); !ok {
				continue
			}
		}
		if slices.ContainsFunc(strings.Split(rel, "/"), isIgnoredName) {
			continue
		}
		if err := checkPath(rel); err != nil {
			return nil, err
		}
		total += int64(len(f.Data))
		if err := checkSizes(rel, len(t)+1, int64(len(f.Data)), total); err != nil {
			return nil, err
		}
		t[rel] = newTreeFile(f.Data, f.Executable)
	}
	return newCandidate(t, folder, from)
}

// shortList returns the first entries of a list for an error.
func shortList(list []string) string {
	more := ""
	if len(list) > 12 {
		more = fmt.Sprintf(", and %d more", len(list)-12)
		list = list[:12]
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = shortValue(s)
	}
	return strings.Join(out, ", ") + more
}

// Write returns a new skill with the given instructions. If text begins with front matter, it is a
// complete SKILL.md file, and name and description are not used.
func Write(name, description, text string) (*Candidate, error) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n") + "\n"
	if !strings.HasPrefix(text, frontLine+"\n") {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("%w: the instructions are empty; write what Hob should do", ErrInvalid)
		}
		// A quoted string of Go without escapes for other characters is one of YAML, too.
		text = fmt.Sprintf("%[1]s\nname: %[2]q\ndescription: %[3]q\n%[1]s\n%[4]s", frontLine, strings.TrimSpace(name), strings.TrimSpace(description), text)
	}
	return newCandidate(tree{manifestFile: newTreeFile([]byte(text), false)}, "", "the page")
}

// frontLine begins and ends front matter.
const frontLine = "---"

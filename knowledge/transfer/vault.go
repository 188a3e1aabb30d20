package transfer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
)

// Limits of a vault.
const (
	maxNotes = 100_000
	maxNote  = 4 << 20 // bytes; longer notes are truncated
	maxLinks = 500     // links per note
	// looked is the maximum number of notes to read in order to distinguish a vault from other
	// folders.
	looked = 200
)

// loadWikiLink returns a pattern for a link between notes: [[Name]], [[Name#heading|shown]].
var loadWikiLink = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\[([^\]\[|#^\n]{1,200})(?:[#^][^\]\[|\n]{0,200})?(?:\|[^\]\[\n]{0,200})?\]\]`)
})

// listNotes lists the Markdown files of a vault. It does not follow symlinks: os.Root rejects
// symlinks that leave the vault, and notes behind other symlinks would be read twice.
func listNotes(root *os.Root) (out []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && p != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case len(out) >= maxNotes:
			return fs.SkipAll
		case e.Type().IsRegular() && strings.EqualFold(path.Ext(p), ".md"):
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

func readNote(root *os.Root, name string) (string, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxNote))
	return strings.ToValidUTF8(string(b), "\uFFFD"), errors.Join(err, f.Close())
}

func hasLinks(dir string) (bool, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer root.Close() //nolint:errcheck // the folder was only read
	list, err := listNotes(root)
	if err != nil {
		return false, err
	}
	for _, name := range list[:min(len(list), looked)] {
		if text, err := readNote(root, name); err == nil && loadWikiLink().MatchString(text) {
			return true, nil
		}
	}
	return false, nil
}

// readVault emits an entity with its aliases for each note with links, and a relation for each
// link. The caller ingests the text of the notes as documents.
func readVault(dir string, t recordFunc) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("transfer: read the notes: %w", err)
	}
	defer root.Close() //nolint:errcheck // the folder was only read
	list, err := listNotes(root)
	if err != nil {
		return fmt.Errorf("transfer: read the notes: %w", err)
	}
	v := vault{known: map[string]string{}, made: map[string]bool{}}
	for _, name := range list {
		base := noteName(name)
		if id, ok := v.known[textnorm.Fold(base)]; !ok || id > name { // the first note, in the order of the paths, takes precedence
			v.known[textnorm.Fold(base)] = name
		}
	}
	for _, name := range list {
		text, err := readNote(root, name)
		if err != nil {
			t.skip(name, err)
			continue
		}
		if err := v.emitNote(t, name, text); err != nil {
			return err
		}
	}
	return nil
}

type vault struct {
	known map[string]string // notes by their folded names
	made  map[string]bool
}

func noteName(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }

func (v vault) emitNote(t recordFunc, name, text string) error {
	front, body := frontMatter(text)
	links := []string{}
	for _, m := range loadWikiLink().FindAllStringSubmatch(body, -1) {
		to := noteName(strings.TrimSpace(m[1]) + ".md")
		if p := strings.TrimSuffix(strings.TrimSpace(m[1]), ".md"); path.Base(p) != p {
			to = path.Base(p)
		}
		if to != "" && textnorm.Fold(to) != textnorm.Fold(noteName(name)) && !slices.Contains(links, to) && len(links) < maxLinks {
			links = append(links, to)
		}
	}
	aliases := frontMatterValues(front, "aliases", "alias")
	if len(links) == 0 && len(aliases) == 0 {
		return nil
	}
	from, err := v.emitEntity(t, noteName(name), aliases, frontMatterValues(front, "tags", "tag", "type", "category"))
	if err != nil {
		return err
	}
	for _, l := range links {
		to, err := v.emitEntity(t, l, nil, nil)
		if err != nil {
			return err
		}
		r := &knowledge.Relation{ID: stableRef("vault", "link", from, to), From: from, Name: "links_to", To: to, Provenance: provenance.Outside}
		if err := t.emitRecord(name, Record{Relation: r}); err != nil {
			return err
		}
	}
	return nil
}

// emitEntity emits the entity of a note. It emits the entity again only if there are more details.
func (v vault) emitEntity(t recordFunc, name string, aliases, tags []string) (string, error) {
	if p, ok := v.known[textnorm.Fold(name)]; ok {
		name = noteName(p)
	}
	name = line1(name)
	id := stableRef("vault", textnorm.Fold(name))
	if v.made[id] && len(aliases) == 0 {
		return id, nil
	}
	v.made[id] = true
	e := &knowledge.Entity{ID: id, Name: name, Kind: kindOf(tags), Provenance: provenance.Outside}
	for _, a := range aliases {
		if a = line1(a); a != "" && len(e.Aliases) < maxAliases {
			e.Aliases = append(e.Aliases, a)
		}
	}
	return id, t.emitRecord(name, Record{Entity: e})
}

// kindOf returns the entity kind of a note from its tags.
func kindOf(tags []string) string {
	for _, tag := range tags {
		switch strings.TrimPrefix(textnorm.Fold(tag), "#") {
		case "person", "people", "contact", "friend", "family":
			return knowledge.Person
		case "company", "organisation", "organization", "org":
			return knowledge.Company
		case "place", "city", "location", "country":
			return knowledge.Place
		case "event", "meeting":
			return knowledge.Happened
		}
	}
	return knowledge.Thing
}

// frontMatter splits the front matter between "---" lines from the text.
func frontMatter(text string) (front []string, body string) {
	text = strings.TrimPrefix(text, "\uFEFF")
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return nil, text
	}
	head, body, ok := strings.Cut(rest, "\n---")
	if !ok || len(head) > 64<<10 {
		return nil, text
	}
	return strings.Split(head, "\n"), body
}

// frontMatterValues returns a list from the front matter. It supports the forms that Obsidian
// writes: "k: a", "k: [a, b]", and "- a" lines below "k:".
func frontMatterValues(front []string, keys ...string) (out []string) {
	in := false
	add := func(s string) {
		if s = strings.Trim(strings.TrimSpace(s), `"'`); s != "" && len(out) < maxAliases {
			out = append(out, s)
		}
	}
	for _, l := range front {
		item, isItem := strings.CutPrefix(strings.TrimSpace(l), "- ")
		if in && isItem {
			add(item)
			continue
		}
		k, v, ok := strings.Cut(l, ":")
		in = ok && slices.Contains(keys, strings.ToLower(strings.TrimSpace(k)))
		if !in {
			continue
		}
		v = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(v), "["), "]")
		for one := range strings.SplitSeq(v, ",") {
			add(one)
		}
	}
	return out
}

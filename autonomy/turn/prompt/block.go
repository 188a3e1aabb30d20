package prompt

import (
	"crypto/sha256"
	_ "embed" // embeds the templates
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/platform/text/minitmpl"
)

//go:embed system.md
var systemText string

//go:embed soul.md
var soulText string

// The maximum size in bytes of each of the owner's files in a request. The size is limited because
// every request contains these files.
const (
	maxSoul   = 16_000
	maxUser   = 8_000
	maxMemory = 8_000
)

// block is the stable part of a request.
type block struct {
	text string
	// guidance is the digest of the part before the identity, and identity the digest of the rest.
	// A conversation may keep a block that differs only in its identity.
	guidance, identity string
	who                string // text of the identity
}

// contentID returns an id derived from the block's content.
func (b block) contentID() string { return contentDigest(b.text) }

func contentDigest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:12])
}

// blockTexts is the input for a block.
type blockTexts struct {
	Texts

	Name       string
	Guest      bool
	Categories string
	Channels   string
	Skills     string
}

// presentBlock returns the current block for a new conversation. A guest gets the same persona, but
// not USER.md and MEMORY.md.
func (b *Builder) presentBlock(guest bool) (block, error) {
	of := blockTexts{Texts: b.o.Texts(), Name: b.o.Name, Guest: guest, Categories: b.toolCategories(), Channels: strings.Join(b.o.Channels, ", "), Skills: b.skillIndex()}
	i := 0
	if guest {
		i, of.User, of.Memory, of.Skills = 1, "", "", ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	made := &b.made[i]
	if made.of == of && made.block.text != "" {
		return made.block, nil
	}
	made.of = of
	var err error
	made.block, err = b.renderBlock(of)
	return made.block, err
}

func (b *Builder) renderBlock(of blockTexts) (block, error) {
	of.Soul, of.User, of.Memory = shortenLines(of.Soul, maxSoul), shortenLines(of.User, maxUser), shortenLines(of.Memory, maxMemory)
	if of.Soul == "" {
		var err error
		if of.Soul, err = executeTemplate(b.soul, of); err != nil {
			return block{}, err
		}
	}
	text, err := executeTemplate(b.system, of)
	if err != nil {
		return block{}, err
	}
	guidance, who := text, ""
	if i := strings.LastIndex(text, identityMark); i >= 0 {
		guidance, who = text[:i], text[i+1:]
	}
	return block{text: text, guidance: contentDigest(fmt.Sprint(of.Guest) + guidance), identity: contentDigest(who), who: who}, nil
}

// identityMark opens the last section of the block.
const identityMark = "\n<identity>\n"

// skillIndex returns the list of skills, or "" if the agent has no tool that loads them.
func (b *Builder) skillIndex() string {
	if b.o.Skills == nil {
		return ""
	}
	if b.o.Catalog != nil {
		if _, ok := b.o.Catalog.Get("use_skill"); !ok {
			return ""
		}
	}
	return strings.TrimSpace(b.o.Skills.Index())
}

// engine is the category of the tools that control the turn itself and need no search.
const engine = "engine"

// toolCategories lists the searchable categories of tools, in order.
func (b *Builder) toolCategories() string {
	if b.o.Catalog == nil {
		return ""
	}
	var out []string
	for _, t := range b.o.Catalog.Own() {
		if c := t.Spec().Category; c != engine {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// Persona returns the built-in persona of an assistant called name, in the form of a SOUL.md file.
func Persona(name string) (string, error) {
	t, err := minitmpl.Parse(soulText)
	if err != nil {
		return "", fmt.Errorf("prompt: parse the persona: %w", err)
	}
	s, err := executeTemplate(t, struct{ Name string }{name})
	return s + "\n", err
}

func executeTemplate(t *minitmpl.Template, data any) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("prompt: fill in a template: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// shortenLines keeps the complete lines that fit in n bytes and adds a note if lines are omitted.
func shortenLines(s string, n int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.ReplaceAll(s, strings.TrimSpace(identityMark), "<identity >") // only the block itself may open this section
	if len(s) <= n {
		return s
	}
	const more = "\n[truncated here: the rest is too long]"
	return headLines(s, n-len(more)) + more
}

// headLines returns at most the first n bytes of s. It cuts at the end of a line if there is one in
// the second half of these bytes, otherwise at a rune boundary.
func headLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if i := strings.LastIndexByte(s[:n], '\n'); i > n/2 {
		n = i
	}
	return strings.TrimRight(s[:n], " \n")
}

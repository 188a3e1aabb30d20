package document

import (
	"path"
	"slices"
	"strings"
)

// endings lists the file name extensions of source code by language.
const endings = `Go .go|Python .py .pyi|JavaScript .js .mjs .cjs .jsx|TypeScript .ts .tsx|Java .java|Kotlin .kt .kts|C .c .h|C++ .cc .cpp .cxx .hpp .hh|C# .cs|
Rust .rs|Ruby .rb|PHP .php|Swift .swift|Scala .scala|Perl .pl .pm|Lua .lua|R .r|Julia .jl|Haskell .hs|OCaml .ml .mli|Elixir .ex .exs|Erlang .erl|Clojure .clj|
Dart .dart|Shell .sh .bash .zsh .fish|PowerShell .ps1|SQL .sql|CSS .css .scss .less|XML .xml .xsd .xsl .svg|YAML .yaml .yml|TOML .toml|INI .ini .cfg .conf|
Zig .zig|Nim .nim|Vue .vue|Svelte .svelte|TeX .tex .bib|Protobuf .proto`

// sourceLanguage returns the language of a file extension, "" if it is not source code.
func sourceLanguage(ext string) string {
	for l := range strings.SplitSeq(endings, "|") {
		words := strings.Fields(l)
		if slices.Contains(words[1:], ext) {
			return words[0]
		}
	}
	return ""
}

// parseCode keeps the lines as they are; where to cut is the splitter's business.
func (p *parser) parseCode(name string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	return &Document{
		Title: path.Base(strings.ReplaceAll(name, `\`, "/")), Language: sourceLanguage(strings.ToLower(path.Ext(name))),
		Sections: []Section{{Text: s, Code: true}},
	}, nil
}

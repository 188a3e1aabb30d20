package skills

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"

	"hob/platform/text/visible"
)

// Limits of a SKILL.md file. The limits of the specification (https://agentskills.io/specification)
// count characters.
const (
	maxManifest      = 256 << 10 // bytes of the file
	maxFront         = 16 << 10  // bytes of the front matter
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
	maxLicense       = 500
	maxMetadata      = 50   // entries
	maxValue         = 1024 // characters of a metadata value
	maxTriggers      = 20
	maxTrigger       = 100
	maxAllowed       = 64 // tools
)

// Manifest is the front matter of a SKILL.md file.
type Manifest struct {
	Name          string
	Description   string
	License       string
	Compatibility string
	Metadata      map[string]string
	// Triggers are words or phrases; the skill matches a message that contains one of them.
	Triggers []string
	// Allowed narrows the tools while the skill is in force. Limited is false if the skill has no
	// allowed-tools.
	Allowed []AllowedTool
	Limited bool
}

// fieldError returns an error about a field of the front matter.
func fieldError(field, why, remedy string) error {
	return fmt.Errorf("%w: SKILL.md: %s: %s; %s", ErrInvalid, field, why, remedy)
}

// ParseManifest parses and validates a SKILL.md file. It returns the instructions below the front
// matter. Errors wrap ErrInvalid and name the field and the remedy.
func ParseManifest(raw []byte) (m Manifest, body string, err error) {
	front, body, err := splitFront(raw)
	if err != nil {
		return m, "", err
	}
	fields, err := frontFields(front)
	if err != nil {
		return m, "", err
	}
	for key, n := range fields {
		if err := m.setField(key, n); err != nil {
			return m, "", err
		}
	}
	if len(m.Triggers) == 0 {
		if m.Triggers, err = metadataTriggers(fields["metadata"]); err != nil {
			return m, "", err
		}
	}
	if err := m.validateName(fields["name"] != nil); err != nil {
		return m, "", err
	}
	if fields["description"] == nil {
		return m, "", fieldError("description", "is missing", "say in one or two sentences what the skill does and when to use it")
	}
	return m, body, nil
}

// splitFront separates the front matter from the instructions.
func splitFront(raw []byte) (front []byte, body string, err error) {
	switch {
	case len(raw) > maxManifest:
		return nil, "", fieldError("size", fmt.Sprintf("is larger than %d KiB", maxManifest>>10), "move details to files in references/")
	case !utf8.Valid(raw):
		return nil, "", fieldError("encoding", "is not UTF-8", "save the file as UTF-8")
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\uFEFF"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, "", fieldError("front matter", "is missing", "begin the file with a line ---, then name and description, then a line ---")
	}
	at, end := 0, -1
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			end = at
			body = rest[at+len(line):]
			break
		}
		at += len(line)
	}
	switch {
	case end < 0:
		return nil, "", fieldError("front matter", "is not closed", "end it with a line ---")
	case end > maxFront:
		return nil, "", fieldError("front matter", fmt.Sprintf("is larger than %d KiB", maxFront>>10), "move text below the front matter")
	}
	return []byte(rest[:end]), strings.TrimSpace(body), nil
}

// frontFields decodes the front matter into its fields. It refuses everything that plain metadata
// does not need: several documents, anchors, aliases and tags.
func frontFields(front []byte) (map[string]*yaml.Node, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(front))
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%w: SKILL.md: front matter: not valid YAML: %s; quote values that contain special characters", ErrInvalid, visible.Text(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fieldError("front matter", "is not a list of fields", "write lines of the form field: value")
	}
	out := map[string]*yaml.Node{}
	list := doc.Content[0].Content
	for i := 0; i+1 < len(list); i += 2 {
		key := list[i].Value
		if list[i].Kind != yaml.ScalarNode || out[key] != nil {
			return nil, fieldError("front matter", fmt.Sprintf("line %d: the field %q is not a plain name or occurs twice", list[i].Line, shortValue(key)), "write each field once")
		}
		if err := checkPlainNode(key, list[i+1], 0); err != nil {
			return nil, err
		}
		out[key] = list[i+1]
	}
	return out, nil
}

// checkPlainNode refuses YAML features that can hide or multiply content.
func checkPlainNode(field string, n *yaml.Node, depth int) error {
	if n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		return fieldError(shortValue(field), fmt.Sprintf("line %d uses an anchor, an alias or a tag", n.Line), "write the value itself")
	}
	if depth > 3 {
		return fieldError(shortValue(field), "is nested too deeply", "use plain values or a list of them")
	}
	for _, c := range n.Content {
		if err := checkPlainNode(field, c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifest) setField(key string, n *yaml.Node) (err error) {
	switch key {
	case "name":
		m.Name, err = textField(key, n, 4*maxName)
	case "description":
		m.Description, err = textField(key, n, maxDescription)
		if err == nil && m.Description == "" {
			err = fieldError(key, "is empty", "say in one or two sentences what the skill does and when to use it")
		}
	case "license":
		m.License, err = textField(key, n, maxLicense)
	case "compatibility":
		if m.Compatibility, err = textField(key, n, maxCompatibility); err == nil && m.Compatibility == "" {
			err = fieldError(key, "is empty", "remove the field or name what the skill needs")
		}
	case "metadata":
		m.Metadata, err = metadataField(n)
	case "triggers":
		m.Triggers, err = triggerList(key, n)
	case "allowed-tools":
		m.Limited = true
		m.Allowed, err = allowedField(n)
	default:
		err = fieldError(shortValue(key), fmt.Sprintf("line %d: unknown field", n.Line), "move it below metadata; known fields: name, description, license, compatibility, metadata, allowed-tools, triggers")
	}
	return err
}

// textField returns a text on one line of at most limit characters.
func textField(field string, n *yaml.Node, limit int) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", fieldError(field, "is not text", "write "+field+": followed by text on one line")
	}
	s := strings.Join(strings.Fields(n.Value), " ")
	if n.Tag == "!!null" {
		s = ""
	}
	if c := utf8.RuneCountInString(s); c > limit {
		return "", fieldError(field, fmt.Sprintf("has %d characters, at most %d are allowed", c, limit), "shorten it")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || visible.Hidden(0, r) }) {
		return "", fieldError(field, "contains invisible or control characters", "remove them")
	}
	return s, nil
}

// validateName checks the name by the specification's rules.
func (m *Manifest) validateName(there bool) error {
	const field, form = "name", "use 1 to 64 lower-case letters, digits and single hyphens, such as expense-report"
	switch n := m.Name; {
	case !there:
		return fieldError(field, "is missing", "add name: NAME, equal to the name of the folder")
	case n == "":
		return fieldError(field, "is empty", form)
	case utf8.RuneCountInString(n) > maxName:
		return fieldError(field, fmt.Sprintf("has %d characters, at most %d are allowed", utf8.RuneCountInString(n), maxName), form)
	case n != strings.ToLower(n):
		return fieldError(field, fmt.Sprintf("%q is not lower case", n), form)
	case strings.HasPrefix(n, "-") || strings.HasSuffix(n, "-"):
		return fieldError(field, fmt.Sprintf("%q begins or ends with a hyphen", n), form)
	case strings.Contains(n, "--"):
		return fieldError(field, fmt.Sprintf("%q contains two hyphens in a row", n), form)
	case strings.ContainsFunc(n, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) || !norm.NFKC.IsNormalString(n):
		return fieldError(field, fmt.Sprintf("%q contains characters other than letters, digits and hyphens", shortValue(n)), form)
	}
	return nil
}

// CheckFolderName checks that the folder has the name of the skill, as the specification requires.
func (m *Manifest) CheckFolderName(folder string) error {
	if norm.NFC.String(folder) == norm.NFC.String(m.Name) {
		return nil
	}
	return fieldError("name", fmt.Sprintf("%q differs from the name of the folder, %q", m.Name, shortValue(folder)), "rename one of them")
}

func metadataField(n *yaml.Node) (map[string]string, error) {
	const field = "metadata"
	if n.Kind != yaml.MappingNode {
		return nil, fieldError(field, "is not a list of keys with values", "indent lines of the form key: value below it")
	}
	if len(n.Content)/2 > maxMetadata {
		return nil, fieldError(field, fmt.Sprintf("has more than %d entries", maxMetadata), "remove some")
	}
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := textField(field, n.Content[i], maxName)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice || key == "" {
			return nil, fieldError(field, fmt.Sprintf("the key %q is empty or occurs twice", key), "write each key once")
		}
		if key == "triggers" {
			continue // read by metadataTriggers
		}
		v := n.Content[i+1]
		if v.Kind != yaml.ScalarNode { // other programs store lists in metadata, which Hob ignores
			continue
		}
		if out[key], err = textField(field+"."+key, v, maxValue); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// metadataTriggers returns the triggers below metadata.
func metadataTriggers(n *yaml.Node) ([]string, error) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "triggers" {
			return triggerList("metadata.triggers", n.Content[i+1])
		}
	}
	return nil, nil
}

// triggerList reads a list of triggers, or several separated by commas.
func triggerList(field string, n *yaml.Node) (out []string, err error) {
	list := n.Content
	switch n.Kind {
	case yaml.SequenceNode:
	case yaml.ScalarNode:
		list = nil
		for v := range strings.SplitSeq(n.Value, ",") {
			list = append(list, &yaml.Node{Kind: yaml.ScalarNode, Value: v})
		}
	default:
		return nil, fieldError(field, "is not a list", "write one line \"- words\" for each trigger")
	}
	if len(list) > maxTriggers {
		return nil, fieldError(field, fmt.Sprintf("has more than %d entries", maxTriggers), "keep the most specific ones")
	}
	for _, e := range list {
		t, err := textField(field, e, maxTrigger)
		if err != nil {
			return nil, err
		}
		if len(triggerWords(t)) == 0 || utf8.RuneCountInString(t) < 3 {
			return nil, fieldError(field, fmt.Sprintf("%q is too short", t), "use words of at least 3 letters that occur in your messages")
		}
		out = append(out, t)
	}
	return out, nil
}

// shortValue returns a foreign value in a form for messages.
func shortValue(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return visible.Text(s)
}

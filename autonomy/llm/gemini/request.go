package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"hob/autonomy/llm"
)

// request is the body of a call. It depends only on the messages, the options and the known quirks,
// and constant parts come first. The JSON of an earlier request is therefore a prefix of the next
// request's JSON, which Google caches (https://ai.google.dev/gemini-api/docs/caching).
type request struct {
	System   *content    `json:"systemInstruction,omitempty"`
	Tools    []toolbox   `json:"tools,omitempty"`
	Contents []content   `json:"contents"`
	Config   *toolConfig `json:"toolConfig,omitempty"`
	Generate *generation `json:"generationConfig,omitempty"`

	images   bool // whether the request contains a picture
	unsigned bool // whether the request contains a call without a signature
}

type toolbox struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // see reduceSchema
}

type toolConfig struct {
	Calling struct {
		Mode string `json:"mode"`
	} `json:"functionCallingConfig"`
}

type generation struct {
	MaxTokens  int             `json:"maxOutputTokens,omitempty"`
	MIME       string          `json:"responseMimeType,omitempty"`
	JSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
	Schema     json.RawMessage `json:"responseSchema,omitempty"` // see reduceSchema
	Modalities []string        `json:"responseModalities,omitempty"`
	Thinking   *thinking       `json:"thinkingConfig,omitempty"`
}

// thinking requests summaries of thoughts. Without them, a model that thinks for minutes cannot be
// distinguished from a stalled one.
type thinking struct {
	Include bool `json:"includeThoughts"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      *string   `json:"text,omitempty"`
	Inline    *blob     `json:"inlineData,omitempty"`
	Call      *sentCall `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type sentCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	ID     string            `json:"id,omitempty"`
	Name   string            `json:"name"`
	Result map[string]string `json:"response"`
}

// buildRequest creates a request for a model with the given quirks.
func (m *Model) buildRequest(r llm.Request, q quirk) request {
	var out request
	e := encoder{quirks: q}
	if r.System != "" {
		system := content{Parts: []part{textPart(r.System)}}
		if q&noSystem == 0 {
			out.System = &system
		} else {
			system.Role = "user"
			out.Contents = append(out.Contents, system)
		}
	}
	if q&noTools == 0 && len(r.Tools) > 0 {
		out.Tools = []toolbox{{convertTools(r.Tools, q)}}
		if r.NoTools {
			out.Config = &toolConfig{}
			out.Config.Calling.Mode = "NONE"
		}
	}
	for _, msg := range r.Messages {
		c := e.convertMessage(msg)
		switch n := len(out.Contents); {
		case len(c.Parts) == 0:
		case n > 0 && c.Role == "model" && out.Contents[n-1].Role == "model": // function calls must follow a user turn, so two model turns are merged
			out.Contents[n-1].Parts = append(out.Contents[n-1].Parts, c.Parts...)
		default:
			out.Contents = append(out.Contents, c)
		}
	}
	out.Generate = m.newGeneration(r, q, len(out.Tools) > 0)
	out.images, out.unsigned = e.images, e.unsigned
	return out
}

func (m *Model) newGeneration(r llm.Request, q quirk, tools bool) *generation {
	g := generation{MaxTokens: r.Limit(m.o.MaxTokens)}
	if q&noThinking == 0 {
		g.Thinking = &thinking{true}
	}
	if generatesImages(m.o.Model) {
		g.Modalities = []string{"TEXT", "IMAGE"}
	}
	if r.Format != nil && q&noFormat == 0 && (q&noFormatWithTools == 0 || !tools) {
		g.MIME = "application/json"
		if q&reducedSchema == 0 {
			g.JSONSchema = r.Format.Schema
		} else {
			g.Schema = reduceSchema(r.Format.Schema)
		}
	}
	return &g
}

func convertTools(tools []llm.Tool, q quirk) []function {
	var out []function
	for _, t := range tools {
		f := function{Name: llm.WireName(t.Name), Description: t.Description}
		switch schema := bytes.TrimSpace(t.Schema); {
		case len(schema) == 0:
		case q&reducedSchema == 0:
			f.JSONSchema = schema
		default:
			f.Parameters = reduceSchema(schema)
		}
		out = append(out, f)
	}
	return out
}

type encoder struct {
	quirks   quirk
	images   bool
	unsigned bool
}

func textPart(s string) part { return part{Text: &s} }

// convertMessage converts one message. Results come first, because the API requires them directly
// after the calls.
func (e *encoder) convertMessage(m llm.Message) content {
	out := content{Role: "user"}
	if m.Role == llm.Assistant {
		out.Role = "model"
	}
	var rest []part
	first := true
	for _, p := range m.Parts {
		switch {
		case p.Result != nil:
			out.Parts = append(out.Parts, e.resultPart(p.Result))
		case p.Call != nil:
			rest = append(rest, e.callPart(p, first))
			first = false
		case p.Image != nil:
			rest = append(rest, e.imagePart(p))
		case p.Reasoning != nil: // summaries of thoughts are not sent back
		case p.Text != "" || p.Signature != "" && out.Role == "model":
			x := textPart(p.Text)
			x.Signature = p.Signature
			rest = append(rest, x)
		}
	}
	out.Parts = append(out.Parts, rest...)
	return out
}

func (e *encoder) imagePart(p llm.Part) part {
	if e.quirks&noImages != 0 {
		return textPart("(a picture that this model cannot see)")
	}
	e.images = true
	return part{Inline: &blob{p.Image.MIME, base64.StdEncoding.EncodeToString(p.Image.Data)}, Signature: p.Signature}
}

// noSignature replaces the signature for calls that another model made
// (https://ai.google.dev/gemini-api/docs/thought-signatures). Only the first of several parallel
// calls is signed.
const noSignature = "skip_thought_signature_validator"

func (e *encoder) callPart(p llm.Part, first bool) part {
	c := p.Call
	if e.quirks&noTools != 0 {
		return textPart(fmt.Sprintf("(I used %s with %s.)", llm.WireName(c.Name), c.WireArgs()))
	}
	out := part{Call: &sentCall{e.callID(c.ID), llm.WireName(c.Name), c.WireArgs()}, Signature: p.Signature}
	if first && p.Signature == "" {
		e.unsigned = true
		if e.quirks&wantsSignature != 0 {
			out.Signature = noSignature
		}
	}
	return out
}

func (e *encoder) resultPart(r *llm.ToolResult) part {
	if e.quirks&noTools != 0 {
		return textPart("Result of " + llm.WireName(r.Name) + ":\n" + r.Text)
	}
	key := "output"
	if r.Error {
		key = "error"
	}
	return part{Response: &response{e.callID(r.ID), llm.WireName(r.Name), map[string]string{key: strings.ToValidUTF8(r.Text, "\uFFFD")}}}
}

func (e *encoder) callID(id string) string {
	if e.quirks&noIDs != 0 {
		return ""
	}
	return llm.WireID(id)
}

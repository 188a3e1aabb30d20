package mcp

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/config"
)

func TestReadForm_RefusesSecretsAndDeceptiveAddresses(t *testing.T) {
	s := &server{cfg: config.MCPServer{Name: "zoo", URL: "https://mcp.example.org/mcp"}}
	text := func(name, title string) map[string]any {
		return map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": "string", "title": title}}}
	}
	refused := map[string]*mcp.ElicitParams{
		"password":         {Message: "Who are you?", RequestedSchema: text("password", "")},
		"title":            {Message: "Who are you?", RequestedSchema: text("x", "Your API key")},
		"message":          {Message: "What is your bank PIN?", RequestedSchema: text("x", "")},
		"spaced":           {Message: "Enter your p a s s w o r d", RequestedSchema: text("x", "")},
		"look-alikes":      {Message: "Enter your pаsswоrd", RequestedSchema: text("x", "")},
		"digits":           {Message: "p4ssw0rd?", RequestedSchema: text("x", "")},
		"invisible":        {Message: "pass\u200bword?", RequestedSchema: text("x", "")},
		"code by message":  {Message: "Enter the code that we sent to your phone", RequestedSchema: text("x", "")},
		"card":             {Message: "How do you pay?", RequestedSchema: text("cardNumber", "")},
		"German":           {Message: "Bitte das Kennwort", RequestedSchema: text("x", "")},
		"nested":           {Message: "Where?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "object"}}}},
		"too long":         {Message: strings.Repeat("long ", 100), RequestedSchema: text("x", "")},
		"empty":            {Message: "\u200b ", RequestedSchema: text("x", "")},
		"unknown mode":     {Mode: "page", Message: "Look"},
		"self reference":   {Message: "Where?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "$ref": "#"}}}},
		"no TLS":           {Mode: "url", Message: "Sign in", URL: "http://mcp.example.org/login"},
		"script":           {Mode: "url", Message: "Sign in", URL: "javascript:alert(1)"},
		"file":             {Mode: "url", Message: "Sign in", URL: "file:///etc/passwd"},
		"user information": {Mode: "url", Message: "Sign in", URL: "https://mcp.example.org@evil.example/login"},
		"backslash":        {Mode: "url", Message: "Sign in", URL: `https://evil.example\@mcp.example.org/`},
		"control":          {Mode: "url", Message: "Sign in", URL: "https://evil.example/\u202egro.elpmaxe"},
		"letters":          {Mode: "url", Message: "Sign in", URL: "https://mcp.exаmple.org/"},
		"router":           {Mode: "url", Message: "Sign in", URL: "https://192.168.1.1/reboot"},
		"decimal":          {Mode: "url", Message: "Sign in", URL: "https://3232235777/reboot"},
		"hexadecimal":      {Mode: "url", Message: "Sign in", URL: "https://0xc0a80101/reboot"},
		"loopback":         {Mode: "url", Message: "Sign in", URL: "https://127.0.0.1/"},
		"own network":      {Mode: "url", Message: "Sign in", URL: "https://router.local/"},
		"intranet":         {Mode: "url", Message: "Sign in", URL: "https://router/"},
		"long address":     {Mode: "url", Message: "Sign in", URL: "https://mcp.example.org/" + strings.Repeat("x", 2000)},
	}
	for name, p := range refused {
		if f, err := s.readForm("", p); err == nil {
			t.Errorf("%s is accepted: %+v", name, f)
		}
	}
	for want, address := range map[string]string{
		"host mcp.example.org, the host of the server":                                                                                "https://mcp.example.org/login?id=1",
		"host login.example.com, not the host of the server, mcp.example.org":                                                         "https://login.example.com/",
		"host xn--exmple-4nf.org, not the host of the server, mcp.example.org; xn-- stands for letters that can imitate another name": "https://xn--exmple-4nf.org/",
		"host bad.cafe, not the host of the server, mcp.example.org":                                                                  "https://bad.cafe/",
	} {
		if f, err := s.readForm("", &mcp.ElicitParams{Mode: "url", Message: "Sign in with your password there", URL: address}); err != nil || f.hostText != want {
			t.Errorf("readForm(%s) says %q, %v, want %q", address, f.hostText, err, want)
		}
	}
	f, err := s.readForm("", &mcp.ElicitParams{Message: "Which\n city?", RequestedSchema: map[string]any{
		"type": "object", "required": []string{"city"},
		"properties": map[string]any{"city": map[string]any{"type": "string"}, "days": map[string]any{"type": "integer", "default": 3}, "zip": map[string]any{"type": "string", "title": "Postal code"}},
	}})
	if err != nil || f.message != "Which city?" || len(f.fields) != 3 {
		t.Fatalf("readForm = %+v, %v", f, err)
	}
	full, added, err := f.completeAnswers(map[string]any{"city": "Oslo"})
	if err != nil || full["city"] != "Oslo" || len(added) != 1 || added[0] != "days = 3" {
		t.Errorf("completeAnswers = %v, %v, %v", full, added, err)
	}
	for name, answers := range map[string]map[string]any{"a required value": {"days": 1.0}, "another type": {"city": 5.0}, "an unknown field": {"city": "Oslo", "country": "NO"}, "half a day": {"city": "Oslo", "days": 1.5}} {
		if full, _, err := f.completeAnswers(answers); err == nil {
			t.Errorf("completeAnswers accepts %s: %v", name, full)
		}
	}
}

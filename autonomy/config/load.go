package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"

	"github.com/pelletier/go-toml/v2"

	"hob/platform/text/sorting"
)

// LoadLatest returns the configuration in the file. If the file is missing or invalid, it returns
// started, the configuration with which Hob was started.
func LoadLatest(path string, started *Config) *Config {
	if _, err := os.Stat(path); err != nil {
		return started
	}
	c, err := Load(path)
	if err != nil {
		return started
	}
	return c
}

// Load reads and checks the file. If the file is missing, it returns the defaults. It returns all
// mistakes together as Errors.
func Load(path string) (*Config, error) {
	text, fi, err := readConfigFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	c.warnPlainSecrets(fi)
	return c, nil
}

// Default returns the configuration of an empty file.
func Default() (*Config, error) { return Parse("config.toml", nil) }

func readConfigFile(path string) ([]byte, fs.FileInfo, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if target, lerr := os.Readlink(path); lerr == nil { // the defaults would replace settings that are out of reach
			return nil, nil, Errors{{File: path, Msg: fmt.Sprintf("the file is a link to %s, which does not exist; restore that file, or delete the link to use the defaults", target)}}
		}
		return nil, nil, nil
	}
	if err == nil && !fi.Mode().IsRegular() {
		return nil, nil, Errors{{File: path, Msg: "not a file; move it elsewhere, then run: hob init"}}
	}
	if err == nil && fi.Size() > maxSize { // do not read a huge file just to report this error
		return nil, nil, Errors{{File: path, Msg: fmt.Sprintf("the file is larger than %d KB, which is the limit; move the file elsewhere, then run: hob init", maxSize>>10)}}
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, nil, Errors{{File: path, Msg: "cannot be read: " + pe.Err.Error() + "; make the file readable for your account"}}
	}
	return text, fi, err
}

// Parse is like Load, but for text in memory. name is the file name for errors.
func Parse(name string, text []byte) (*Config, error) {
	d, err := parseDocument(name, text)
	if err != nil {
		e, _ := errors.AsType[*Error](err)
		return nil, Errors{e}
	}
	c := &Config{doc: d}
	errs := d.checkKeys(reflect.TypeFor[configFile](), nil)
	switch c.file, err = decodeFile(d); { // unknown keys neither stop decoding nor hide other mistakes
	case err == nil:
		c.indexSections()
		errs = append(errs, c.validateConfig()...)
	case len(errs) == 0:
		e, _ := errors.AsType[*Error](err)
		return nil, Errors{e}
	}
	sorting.StableByFunc(errs, func(a, b *Error) int { return a.Line - b.Line })
	return c, errs.orNil()
}

// decodeFile sets the defaults and then applies the file.
func decodeFile(d *document) (configFile, error) {
	f, err := defaultFile()
	if err != nil {
		return f, &Error{File: "default.toml", Msg: err.Error()}
	}
	if err := toml.NewDecoder(bytes.NewReader(d.text)).Decode(&f); err != nil {
		return f, d.syntaxError(err)
	}
	for _, section := range f.Accounts {
		section.fillMissing()
	}
	return f, nil
}

func defaultFile() (configFile, error) {
	var f configFile
	err := toml.Unmarshal(defaultText, &f)
	f.Providers, f.Prices, f.Accounts, f.Channels, f.Triggers, f.Agents, f.Routes, f.Levels, f.Databases, f.OpenAPI, f.MCP.Servers = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	f.People, f.Hooks = nil, nil
	f.A2A.Agents = nil
	f.Notify.Hours, f.Notify.Rules = nil, nil // default.toml only describes these sections and does not enable them
	return f, err
}

package ocr

func newBackend(o Options) backend { return scripted{o.Scripts, winScript()} }

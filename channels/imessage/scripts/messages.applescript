-- What the scripts over Messages share.
on awake()
	if application id "com.apple.MobileSMS" is not running then error "not running" number 9600
end awake

on textOf(request, key)
	return (request's valueForKey:key) as text
end textOf

-- What is sent: the text, or the file that is at a path.
on payload(request)
	set thePath to my textOf(request, "filePath")
	if thePath is "" then return my textOf(request, "bodyText")
	return (POSIX file thePath) as alias
end payload

# Reads the text in a picture (learn.microsoft.com, Windows.Media.Ocr.OcrEngine), in
# the languages of the owner's profile.
function Await($op, $type) {
  $as = [System.WindowsRuntimeSystemExtensions].GetMethods() | Where-Object { $_.Name -eq 'AsTask' -and $_.GetParameters().Count -eq 1 -and $_.GetParameters()[0].ParameterType.Name -eq 'IAsyncOperation`1' }
  $task = @($as)[0].MakeGenericMethod($type).Invoke($null, @($op))
  if (-not $task.Wait(50000)) { throw (New-Object System.TimeoutException 'Windows did not answer') }
  $task.Result
}
function Main($in) {
  $null = [System.Reflection.Assembly]::Load('System.Runtime.WindowsRuntime, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089')
  $null = [Windows.Storage.StorageFile,Windows.Storage,ContentType=WindowsRuntime]
  $null = [Windows.Storage.Streams.IRandomAccessStream,Windows.Storage.Streams,ContentType=WindowsRuntime]
  $null = [Windows.Graphics.Imaging.BitmapDecoder,Windows.Graphics.Imaging,ContentType=WindowsRuntime]
  $null = [Windows.Graphics.Imaging.SoftwareBitmap,Windows.Graphics.Imaging,ContentType=WindowsRuntime]
  $null = [Windows.Media.Ocr.OcrEngine,Windows.Foundation,ContentType=WindowsRuntime]
  $null = [Windows.Media.Ocr.OcrResult,Windows.Foundation,ContentType=WindowsRuntime]
  $engine = [Windows.Media.Ocr.OcrEngine]::TryCreateFromUserProfileLanguages()
  if (-not $engine) { Refuse 'setup_required' 'Windows has no text recognition for your languages; add it in Settings, Time and language, Language' }
  $file = Await ([Windows.Storage.StorageFile]::GetFileFromPathAsync($in.path)) ([Windows.Storage.StorageFile])
  $stream = Await ($file.OpenAsync(0)) ([Windows.Storage.Streams.IRandomAccessStream])
  try {
    $decoder = Await ([Windows.Graphics.Imaging.BitmapDecoder]::CreateAsync($stream)) ([Windows.Graphics.Imaging.BitmapDecoder])
    $most = [Windows.Media.Ocr.OcrEngine]::MaxImageDimension
    if (($decoder.PixelWidth -gt $most) -or ($decoder.PixelHeight -gt $most)) { Refuse 'invalid_input' 'the picture is larger than Windows reads' }
    $bitmap = Await ($decoder.GetSoftwareBitmapAsync()) ([Windows.Graphics.Imaging.SoftwareBitmap])
    $result = Await ($engine.RecognizeAsync($bitmap)) ([Windows.Media.Ocr.OcrResult])
    $lines = @()
    foreach ($line in $result.Lines) { $lines += [string]$line.Text }
    Answer @{ lines = @($lines) }
  } finally {
    $stream.Dispose()
  }
}

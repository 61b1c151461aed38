// The identity of a connection is part of its configuration.
@_exported public import struct LarderCredentials.AccessToken
@_exported public import protocol LarderCredentials.AccessTokenProvider

/// Keys that were made for these tests, and guard nothing.
package enum TestKeys {
    /// The private key of a server.
    package static let serverKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQCuu0tS8a4ediXo
        WDWLMtJKo5UCh+6+PyfzHleS+rU6HkIISe+lkWi9rQhDNwe21RECc28g2cncmeie
        QN7T+lhDTwfDV/enVSlTomRxeuJCPML8GUM2p9dpPFMDs1ewXK5/iPYUxwqqGKN6
        JoQcG3WNd6fZVFeiNcIYpKnb2jfgLoJWQs5VT43tISfEt7rsi9LyDQg6GH4saLxY
        I5+YlOiyT/RGhJY50ebCZenJhp8F43MqsZux0gNcHuXT5c93Ij78p+IaIY3Yf3of
        eZc3bXFNFde3X89ZFcUQoUEFGuOI+rEAHkGUS8Y6vP9zKzRZqKm5W1yTpHG65uLY
        4/GWOBTBAgMBAAECggEARkf2ibPFReJe6ABG9SjpdfUrM/vqFyK/FmZ/chKef3R5
        Oe1HU9DTkOt+1c5WL3+vGk3FBrEjJTTQ4IqWNixNgTFSHYwOBIPYHhhFD3IOfPcE
        tLMSmnLTTbRibawe2sTEuW6lEIFo9Db51mGUpNuUomTdIijvIMM/wXrGCbTR4b0Y
        /sjVZvBS6j9E1xvY28bLIRXMrx5I2U0oRy2FNwP8rlfzIn7iYq7Yj5FzIU0eH3Ic
        iV0Mp96J1HX0Ydgjwdx8ZChVS0KyKYNdX6dGfXGOnBxlnNyYuKUrTvUJ7kBeRAnV
        tfChQWFmejwiFTNhRnfBtNuFKyM6c9pNIo5GqsIEowKBgQDeEuUWqNMbg0tmj5mR
        15+10i2z+JLWv0WhyIkPFbBuCxszSe9MlhxdJy0ROpBhW8wGrbVYRCun+xHfdDaE
        Vlj6BdJ3Uv181enn+XzjsjwuM/1mmAHLTbDFXdBQmLeHxwmgnor6q3Mv9izdKjUC
        16YfAYS+1KTLSr/jEpwOXFmO/wKBgQDJbOOm3YlmDMwJmmH2LX2uK/p8FqVn9Lqh
        qz/f7ADB0NkDrlApj87aYLISmgVXzqIzh9AZo/ldMzR5ezT4pfZmsNryweWS3Yob
        iWv1rELnC8LzClv3Qwclt8GF8tOM5NHM3TgEINnK5yCqxuLfYk+wNo6A0aBUtc48
        ctIv2XYcPwKBgQDZ5+p48JGtdoifC5sh+1WQwLrt1KSpKag21qJ+dcbYQ/edvRed
        q9ILKezT8gZIMh4iE4NVKBc6Tmc8PzlbY6sNMndRdNKdEv3hDPMaLgNVRtiIOfHQ
        vtwM3kARRbkY9xogTFGNJHzze/iLz+WSc25jEEdkRR2rCR7+vnz4rm+GmwKBgQCS
        YsWMBuMNPG2o6P8a13LIewO+3QJ266AbUIbKaQ0fznV5PFzb57ywbqfb5v3NE8pD
        4wc1KztWJZmUVBtqPcs2VH+6/3ml48W0P4orcHbqzVxwH2445Ai0u7g0bgabFcz3
        syo7rdg6owDVvFcze5JogS3Npwt7pOluexAQYF17JwKBgQCPiioa4wmZT2ikUKzy
        BLTZfEGgUd015XIDQ4M8onvzxbWq7i1bhHgCLM4HNwXFhfqm4mZmMvW8z6RtNb9b
        r2nTllSp02DQ6EsL7aG+FiCUtBGmwaRwB5zK8NFUNBT3JDAob2EApmrNc5a0szqR
        jp8MKZ6Q/oLgSrQsMoo0QaCdOw==
        -----END PRIVATE KEY-----
        """

    /// Its certificate, for localhost and signed by itself; valid for 100 years.
    package static let serverCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIDJzCCAg+gAwIBAgIUWRNSwDTSEteaKKovgNkYeNfQ5G0wDQYJKoZIhvcNAQEL
        BQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIwMjkxMloYDzIxMjYx
        MDI4MjAyOTEyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwggEiMA0GCSqGSIb3DQEB
        AQUAA4IBDwAwggEKAoIBAQCuu0tS8a4ediXoWDWLMtJKo5UCh+6+PyfzHleS+rU6
        HkIISe+lkWi9rQhDNwe21RECc28g2cncmeieQN7T+lhDTwfDV/enVSlTomRxeuJC
        PML8GUM2p9dpPFMDs1ewXK5/iPYUxwqqGKN6JoQcG3WNd6fZVFeiNcIYpKnb2jfg
        LoJWQs5VT43tISfEt7rsi9LyDQg6GH4saLxYI5+YlOiyT/RGhJY50ebCZenJhp8F
        43MqsZux0gNcHuXT5c93Ij78p+IaIY3Yf3ofeZc3bXFNFde3X89ZFcUQoUEFGuOI
        +rEAHkGUS8Y6vP9zKzRZqKm5W1yTpHG65uLY4/GWOBTBAgMBAAGjbzBtMB0GA1Ud
        DgQWBBRj7HitOd851QIncFc6OiUHdXnEMDAfBgNVHSMEGDAWgBRj7HitOd851QIn
        cFc6OiUHdXnEMDAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGCCWxvY2FsaG9z
        dIcEfwAAATANBgkqhkiG9w0BAQsFAAOCAQEAZLOl+RsHzlJKEmn10fTbAOoJgHdO
        wYE31zroC7S4xnSGqqSHDOu4WexLLAZ328fLh+LyqdhuEZDBQXhbted/xfF77EKS
        /ZuzvxKSQmDUgvW2u9ZPV2dBOBnmxGvickpOY1Xcv8N14YR4iQzYuCFfMHp5E6lQ
        OYDHCYbcvlHbumQu/9qXuAC4OCI55E0BANmPeBSY+hklt6w/ZieTrzbIIDdA7w2w
        3JqqhkX1U8kTNLxGvXU73IXON2xUkesTyYXPfPfWmNWcMZ0z2CR/0QeC45AEa26v
        SvOJQ7GIKSA4YnK8eRMmnLcvD0stMq+m3sKH4B9YV7NEqyVhn9l/B8yfXg==
        -----END CERTIFICATE-----
        """
}

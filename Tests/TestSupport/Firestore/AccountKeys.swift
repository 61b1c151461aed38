import Foundation

/// The keys of a service account, made for these tests.
package enum AccountKeys {
    /// The private key of a service account.
    package static let privateKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvwIBADANBgkqhkiG9w0BAQEFAASCBKkwggSlAgEAAoIBAQDHihafVygnNLM6
        c642JLX+r9WSzy5XyemkPtSXlb140rS/eYl7hQN8/LIV54+X4KDeBLYwZxhu8gK3
        FZ3Cl4nuPAUEaylx393Hb9DyQ0y5+x6z0uEZbudLqOCbL62LK5nEuHoXo2ZgsCfY
        WdYIDu5rg053ZyA4WhuCi0gsqEB0ext8wwiMxa2fqP35peW4uWAaRaooWOMsBuuB
        vyXi81iuCpPhjfameJPyUqjB3xadTojgAn8uVPr/RgzNOIIRKeLfz9qWyZ3GVThL
        mXqlEo5NAkvsGdYo0sQJ5rA6BNXPQ0PbsnuHMrOQU5326hED2BudP0pblQVGVbKj
        cw/1QmnjAgMBAAECggEAPNISYy8lxg2CM+beyxIVhzQBXWZZMdkRpkagdjPmNNXE
        0jgxd7zre0Vq4tJaKmkFn6bAAbDq+aY6vaORGqcmG7+fp+EiGNurtgaXIcDxuh6Z
        FSbKBf6P8bff/m1h8HGxxQyV6m6b3gzTmFaJrpsegRbc6/g7EfIlQH1D2pjOTLJP
        Kes0O0+P/mdVUaK0wNrrKxFr/5tiWs96RMMCNBkxbRFdu44qcbv/99kDZQNseexI
        mgLcDiuAWgVLEW+ZbgYivvNQ4fsG6jigRlnSp62GJYaVRaGrRYSNQW8sRmsvRQrq
        wuJpgPeXpg9VL7QkIvuMyx81pJ7Vityd80nUJ00rwQKBgQD3uEtUpSp+4ektknPp
        vUb1s9o5NVYryIthEnRNWRktZuBzYTkzecgSd8SnlX6aqNy08Ud4PcJxR9j3E1C8
        co70lVThA84ED99aQ1qTls255AhGclRokEu5qO+dWpO7qhPy9IRVcHzOeBuEYIG1
        vlS3VK677wNr/CzKf68ZvcdAdQKBgQDONYUoL1LcizbLrLSeicDLT2VNQhBTqCZH
        btCMlJLYQbHvH+jUz0+ZhbeWXqDZfWfZzFdMBu2Y6/K1ravCXoir/vIb2fstyo+R
        kCoT1s02lontiKaOnl+i2zflyyYv+tCWVt0zrlP6PpNoB623JLW7wKuc1Ky9Wyak
        EM0yLZ819wKBgQCBojgJu8VZUO+toY53K04PFmeEuJy3nOMTkYy7TX0XfVbICoDc
        p0ZEI9kNufXfCa82IW29RtSSY37vDXSaqXiWFe+tMUiGZ6gCnGyx/6D5PpP2Ca6S
        abC3H+kE93mII6D862i1LYCiq8f6pmY6rbe3mOE4CARKZlUqQ1dmqSG0YQKBgQCY
        6Usir2UMshciFaGiZpgWq3t9PN4KiwhHtD7l4E68GostvUXUeR6Xw3aOBQHWBY57
        DXI2qHSMD3tdiblyWtOSZ211hcEjBbBMytDJAWIPdrY09D4+R+a3R0Q+HNTmg2El
        +qfxaPZQ/RIl9Hu28XvqDEe19mdZyzvuMZ9X9Ei5pQKBgQC4Y+1x737dW/2B0CXE
        dJME6145ops0i7lzeI46qhp/pSYAdEHqIcGqW/whZsdVBe/P70MV85vR/Zy9GwzH
        XRDgh3evOIuSbiov4URR6DIFT67NeSnl3epWXGCHcjRvYGzz1AdU0tat8Yc8q/+H
        5loVoZI0o4yAcrybEA+RiJ6xeg==
        -----END PRIVATE KEY-----
        """

    /// Its public key.
    package static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx4oWn1coJzSzOnOuNiS1
        /q/Vks8uV8nppD7Ul5W9eNK0v3mJe4UDfPyyFeePl+Cg3gS2MGcYbvICtxWdwpeJ
        7jwFBGspcd/dx2/Q8kNMufses9LhGW7nS6jgmy+tiyuZxLh6F6NmYLAn2FnWCA7u
        a4NOd2cgOFobgotILKhAdHsbfMMIjMWtn6j9+aXluLlgGkWqKFjjLAbrgb8l4vNY
        rgqT4Y32pniT8lKowd8WnU6I4AJ/LlT6/0YMzTiCESni38/alsmdxlU4S5l6pRKO
        TQJL7BnWKNLECeawOgTVz0ND27J7hzKzkFOd9uoRA9gbnT9KW5UFRlWyo3MP9UJp
        4wIDAQAB
        -----END PUBLIC KEY-----
        """

    /// The JSON text of a key file, with fields changed or, by nil, removed.
    package static func keyFile(_ changes: [String: String?] = [:]) throws -> String {
        var fields: [String: String] = [
            "type": "service_account", "project_id": "p", "private_key_id": "key-1",
            "private_key": privateKey, "client_email": "robot@p.example",
            "client_id": "1", "token_uri": "https://example.com",
        ]
        for (name, value) in changes { fields[name] = value }
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }
}

"""Who a host says its visitor is; PROMISES.md P30 and P31, CASES.md J1 and J3."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest
from joserfc import jws, jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from gateway.identity.entitlements import Entitlement, contexts_for
from gateway.identity.host_file import HostFile, host_identity
from gateway.identity.proofs import HMAC_LIFE, HostIdentity, HostKey, sign_hmac, verify_hmac, verify_jwt
from shared.errors import Unauthenticated

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECRET = b"s" * 32
OCT = OctKey.import_key("k" * 32)
RSA = RSAKey.generate_key(2048)
EC = ECKey.generate_key("P-256")
HOST = HostIdentity(
    "https://host.example",
    "passeur",
    {"h": HostKey("HS256", OCT), "r": HostKey("RS256", RSA), "e": HostKey("ES256", EC)},
    SECRET,
)


def at(seconds):
    return int((NOW + timedelta(seconds=seconds)).timestamp())


def claims(**changes):
    found = {"iss": HOST.issuer, "aud": "passeur", "sub": "user-1", "exp": at(600), "iat": at(0), **changes}
    return {name: value for name, value in found.items() if value is not ...}


def token(kid="h", **changes):
    key = HOST.keys[kid]
    return jwt.encode({"alg": key.algorithm, "kid": kid}, claims(**changes), key.key)


def b64(data):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def with_header(header, payload=None, signature="x"):
    return f"{b64(header)}.{b64(payload or claims())}.{b64(signature.encode())}"


def refused(forged, host=HOST):
    with pytest.raises(Unauthenticated) as told:
        verify_jwt(forged, host, NOW)
    return told.value.message


@pytest.mark.parametrize("kid", ["h", "r", "e"])
def test_a_good_token_of_each_algorithm_proves_its_subject(kid):
    proven = verify_jwt(token(kid, plan="pro"), HOST, NOW)
    assert (proven.user_id, proven.claims["plan"]) == ("user-1", "pro")


@pytest.mark.parametrize("audience", ["passeur", ["other", "passeur"]])
def test_the_audience_may_be_a_list(audience):
    assert verify_jwt(token(aud=audience), HOST, NOW).user_id == "user-1"


def test_a_token_without_kid_is_taken_only_where_there_is_one_key():
    bare = jwt.encode({"alg": "HS256"}, claims(), OCT)
    assert verify_jwt(bare, HostIdentity(HOST.issuer, "passeur", {"h": HOST.keys["h"]}), NOW).user_id == "user-1"
    refused(bare)


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({"exp": at(-59)}, True),
        ({"exp": at(-60)}, False),
        ({"nbf": at(60)}, True),
        ({"nbf": at(61)}, False),
        ({"iat": at(60)}, True),
        ({"iat": at(61)}, False),
        ({"exp": at(7 * 86_400)}, True),
        ({"exp": at(7 * 86_400 + 1)}, False),
    ],
)
def test_the_skew_is_exactly_a_minute(changes, good):
    """PROMISES.md P30: skew grid exact."""
    if good:
        assert verify_jwt(token(**changes), HOST, NOW).user_id == "user-1"
    else:
        refused(token(**changes))


WRONG_CLAIMS = [
    *({"aud": each} for each in ("other", ["other"], ..., {"passeur": 1}, None, "")),
    *({"iss": each} for each in ("https://evil.example", ..., None, ["https://host.example"])),
    *({"sub": each} for each in (..., "", " ", 7, "a\nb", "x" * 201, "a\x00", None, ["user-1"])),
    *({"exp": each} for each in (..., at(600) + 0.5, str(at(600)), True, 10**30, -(10**30), None)),
    *({"nbf": each} for each in (1e308, "soon", [])),
    {"iat": []},
]


def wrong_claims(changes):
    """Sign claims whatever they are, past the library's own care."""
    payload = json.dumps(claims(**changes)).encode()
    return jws.serialize_compact({"alg": "HS256", "kid": "h"}, payload, OCT)


def hs256(header, secret):
    """Sign by hand, past the library's own care."""
    signed = f"{b64(header)}.{b64(claims())}"
    return f"{signed}.{b64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def test_the_hand_made_signature_is_a_good_one():
    assert verify_jwt(hs256({"alg": "HS256", "kid": "h"}, b"k" * 32), HOST, NOW).user_id == "user-1"


def accepted(forged):
    try:
        return verify_jwt(forged, HOST, NOW)
    except Unauthenticated:
        return None


def test_every_forged_token_is_refused_with_the_same_words():
    """PROMISES.md P30, CASES.md J1."""
    forged = [
        with_header({"alg": alg, "kid": kid})
        for alg in ("none", "None", "nOnE", "", None, 7, "HS512", "RS256", "ES256", "EdDSA")
        for kid in ("h", "r", "e")
    ]
    forged += [f"{b64({'alg': alg, 'kid': 'h'})}.{b64(claims())}." for alg in ("none", "HS256")]
    forged += [
        with_header({"alg": "HS256", "kid": kid})
        for kid in ("../../x", "\x00", "' OR 1=1 --", "unknown", "", None, 7, ["h"], {"h": 1}, "h" * 10_000)
    ]
    extras = ({"jku": "https://evil.example"}, {"jwk": {"kty": "oct"}}, {"x5u": "x"}, {"x5c": []}, {"crit": ["b64"]})
    forged += [hs256({"alg": "HS256", "kid": "h", **extra}, b"k" * 32) for extra in extras]
    # RS256's public key taken for an HMAC secret: the classic confusion.
    forged.append(hs256({"alg": "HS256", "kid": "r"}, RSA.as_pem(private=False)))
    forged.append(hs256({"alg": "HS256", "kid": "h"}, b"x" * 32))
    forged += [wrong_claims(changes) for changes in WRONG_CLAIMS]
    good = token()
    head, body, signature = good.split(".")
    forged += [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        good + ".",
        good + "=",
        good[:-2],
        f"{head}.{body}",
        "é.é.é",
        "x" * 9_000,
    ]
    forged += [f"{head}.{b64(claims(sub='admin'))}.{signature}", f"{head}..{signature}"]
    twice = f'{{"iss":"https://host.example","aud":"passeur","sub":"a","sub":"b","exp":{at(600)}}}'.encode()
    signing = jwt.encode({"alg": "HS256", "kid": "h"}, claims(), OCT)
    forged.append(f"{signing.split('.')[0]}.{b64(twice)}.{signing.split('.')[2]}")
    assert len(forged) > 80
    assert [each for each in forged if accepted(each)] == []
    assert {refused(each) for each in forged} == {Unauthenticated().message}


@pytest.mark.parametrize(
    ("forged", "cause"),
    [
        (lambda: token(aud="other"), "audience"),
        (lambda: token(iss="https://evil.example"), "issuer"),
        (lambda: token(exp=at(-600)), "expired"),
        (lambda: token(exp=at(8 * 86_400)), "lives_too_long"),
        (lambda: token(nbf=at(600)), "not_yet"),
        (lambda: token(exp="soon"), "time"),
        (lambda: token(sub=""), "subject"),
        (lambda: hs256({"alg": "HS256", "kid": "h"}, b"x" * 32), "signature"),
        (lambda: hs256({"alg": "HS256", "kid": "unknown"}, b"k" * 32), "kid"),
        (lambda: hs256({"alg": "RS256", "kid": "h"}, b"k" * 32), "algorithm"),
        (lambda: hs256({"alg": "HS256", "kid": "h", "jku": "https://evil.example"}, b"k" * 32), "header"),
        (lambda: "no token", "malformed"),
    ],
)
def test_the_operator_can_find_which_check_failed(forged, cause):
    with pytest.raises(Unauthenticated) as told:
        verify_jwt(forged(), HOST, NOW)
    assert told.value.cause == cause
    assert cause not in told.value.message


def test_a_signed_token_that_names_a_claim_twice_is_refused():
    twice = f'{{"iss":"https://host.example","aud":"passeur","sub":"a","sub":"b","exp":{at(600)}}}'.encode()
    refused(jws.serialize_compact({"alg": "HS256", "kid": "h"}, twice, OCT))


def test_a_project_without_a_host_proves_nobody():
    refused(token(), HostIdentity())
    with pytest.raises(Unauthenticated):
        verify_hmac("demo", "u", at(0), sign_hmac("demo", "u", at(0), b""), HostIdentity(), NOW)


def test_an_hmac_proves_a_user_for_five_minutes():
    """PROMISES.md P31."""
    signature = sign_hmac("demo", "user-1", at(0), SECRET)
    life = HMAC_LIFE.total_seconds()
    for seconds, good in [(0, True), (-60, True), (-61, False), (life + 59, True), (life + 60, False)]:
        now = NOW + timedelta(seconds=seconds)
        if good:
            assert verify_hmac("demo", "user-1", at(0), signature, HOST, now).user_id == "user-1"
        else:
            with pytest.raises(Unauthenticated):
                verify_hmac("demo", "user-1", at(0), signature, HOST, now)


@pytest.mark.parametrize(
    ("project", "user", "issued", "signature"),
    [
        ("demo", "user-1", 0, ""),
        ("demo", "user-1", 0, "0" * 64),
        ("demo", "user-1", 0, sign_hmac("other", "user-1", at(0), SECRET)),
        ("demo", "user-1", 0, sign_hmac("demo", "user-2", at(0), SECRET)),
        ("demo", "user-1", 1, sign_hmac("demo", "user-1", at(0), SECRET)),
        ("demo", "user-1", 0, sign_hmac("demo", "user-1", at(0), b"x" * 32)),
        ("demo", "user-1", 0, sign_hmac("demo", "user-1", at(0), SECRET).upper()),
        ("demo", "user-1", 0, "é" * 64),
        ("demo", "", 0, sign_hmac("demo", "", at(0), SECRET)),
        ("demo", "user-1\nx", 0, sign_hmac("demo", "user-1\nx", at(0), SECRET)),
    ],
)
def test_a_wrong_hmac_proves_nobody(project, user, issued, signature):
    """CASES.md J3: a missing or empty hash is not a verified user."""
    with pytest.raises(Unauthenticated):
        verify_hmac(project, user, at(issued), signature, HOST, NOW)


def test_claims_become_contexts_and_unknown_ones_entitle_to_nothing():
    everyone = ({"scope": ("docs",), "audience": ("public",)},)
    members = ({"scope": ("docs",), "audience": ("members",)},)
    staff = ({"scope": ("docs", "hr"), "audience": ("staff",)},)
    rules = (Entitlement("plan", frozenset({"pro", "team"}), members), Entitlement("groups", frozenset({"hr"}), staff))
    assert contexts_for({}, rules, everyone) == everyone
    assert contexts_for({"plan": "free"}, rules, everyone) == everyone
    assert contexts_for({"plan": "pro"}, rules, everyone) == everyone + members
    assert contexts_for({"plan": ["x", "team"], "groups": ["hr"]}, rules, everyone) == everyone + members + staff
    for odd in (7, None, {"pro": 1}, [["pro"]], True):
        assert contexts_for({"plan": odd}, rules, everyone) == everyone
    assert contexts_for({}, (Entitlement("", frozenset(), members),), everyone) == everyone + members


def test_a_key_set_is_read_with_every_fault_named(tmp_path):
    keys = [
        {**OCT.as_dict(), "kid": "h", "alg": "HS256"},
        {**EC.as_dict(private=False), "kid": "e", "alg": "ES256"},
        {**RSA.as_dict(private=False), "kid": "r", "alg": "RS256"},
    ]
    (tmp_path / "good.json").write_text(json.dumps({"keys": keys}))
    (tmp_path / "secret").write_text("0" * 64)
    faults = []
    good = HostFile(issuer="i", audience="a", jwks_file="good.json", hmac_secret_file="secret")
    host = host_identity(good, tmp_path, faults)
    assert (faults, set(host.keys), len(host.hmac_secret)) == ([], {"h", "e", "r"}, 64)
    bad = [
        {**keys[0], "alg": "RS256"},
        {**keys[0], "alg": "none"},
        {**keys[1], "kid": ""},
        {"kty": "oct", "k": b64(b"short"), "kid": "s", "alg": "HS256"},
        {"kty": "RSA", "kid": "x", "alg": "RS256"},
    ]
    (tmp_path / "bad.json").write_text(json.dumps({"keys": bad}))
    (tmp_path / "short").write_text("abc")
    host = host_identity(HostFile(jwks_file="bad.json", hmac_secret_file="short"), tmp_path, faults)
    assert (len(faults), host.keys) == (6, {})
    host_identity(HostFile(jwks_file="missing.json", hmac_secret_file="missing"), tmp_path, faults)
    assert any("missing.json: cannot be read (No such file" in each for each in faults)
    assert len(faults) == 8

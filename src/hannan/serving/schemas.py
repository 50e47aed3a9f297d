"""JSON types of requests and answers. They are the schema of the service, and requests are validated by them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import Decoder, Encoder

#: Id of a decision, or key of a learner, limited so that one request cannot fill the journal.
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Key = Text | Whole


class ActBody(Struct, forbid_unknown_fields=True):
    """One decision, `count` decisions, or one decision per key of `keys`. A repeated `id` returns the same decision."""

    key: Key | None = None
    keys: Annotated[list[Key], Meta(min_length=1, max_length=10_000)] | None = None
    id: Text | None = None
    count: Annotated[int, Meta(ge=1, le=10_000)] | None = None


class Feedback(Struct, forbid_unknown_fields=True):
    """Feedback: the reward or the loss of a decision."""

    ticket: Annotated[str, Meta(max_length=4096)]
    reward: float | bool | UnsetType = UNSET
    loss: float | bool | UnsetType = UNSET


class LearnerBody(Struct, forbid_unknown_fields=True):
    """Learner, given by a name such as "bandit:tsallis" with `arms` or `n`, or by a description.

    `gains` states whether a learner that is given by name receives rewards (the default) or losses. A description
    contains this information.
    """

    name: str
    learner: str | dict[str, Any] = "bandit"
    arms: list[str] | None = None
    n: Annotated[int, Meta(ge=1, le=65_536)] | None = None
    gains: bool = True
    loss_range: tuple[float, float] = (0.0, 1.0)
    wait: float | None = None
    default: float | None = None


class ArmBody(Struct, forbid_unknown_fields=True):
    """Name of an arm."""

    arm: Text


class NameBody(Struct, forbid_unknown_fields=True):
    """New name of an arm."""

    name: Text


class Decided(Struct):
    """Decision."""

    ticket: str
    arm: str | int
    action: int
    probability: float


class DecidedMany(Struct):
    """Decisions as columns."""

    ticket: list[str]
    arm: list[str | int]
    action: list[int]
    probability: list[float]


class Counted(Struct):
    """Result of feedback: true if it counts now, false if the decision was settled before."""

    counted: bool


class CountedMany(Struct):
    """Results of a list of feedback, in its order."""

    counted: list[bool]


class About(Struct):
    """Learner with its weights and certificate."""

    name: str
    learner: str
    arms: list[str | int]
    keys: int
    rounds: int
    open: int
    bound: float | None
    withheld: str
    weights: list[float]
    certificate: list[tuple[str, str]]


class KeyAbout(Struct):
    """Key with its numbers of decisions, their average reward or loss, and the most likely arm of its next decision."""

    key: str | int
    decisions: int
    pending: int
    mean: float | None
    arm: str | int
    probability: float


class Keys(Struct):
    """Page of the keys of a learner, those with the most decisions first: number of all keys, and of those found."""

    name: str
    total: int
    found: int
    keys: list[KeyAbout]


class ArmAbout(Struct):
    """Arm: its place among all arms that the learner has had, its color on the page, and its decisions.

    `shown`, `settled` and `total` are the number of decisions, of those with feedback, and the sum of their rewards or
    losses; null if they are not counted. `probability` is that of the next decision; null for all keys together.
    """

    arm: str | int
    index: int
    color: str
    available: bool
    shown: int | None
    settled: int | None
    total: float | None
    probability: float | None


class ArmList(Struct):
    """Arms of the current stage of a learner, or of one key.

    Decisions are counted since `since`, in seconds since 1970; null: since the first one.
    """

    name: str
    key: str | int | None
    learner: str
    gains: bool
    loss_range: tuple[float, float]
    wait: float | None
    default: float | None
    keys: int
    unkeyed: int
    pending: int
    stage: int
    since: float | None
    arms: list[ArmAbout]
    warnings: list[str]


class ArmEvidence(Struct):
    """Evidence about one arm: estimate, interval, number of decisions, and probability of the next draw."""

    arm: str
    mean: float
    low: float
    high: float
    shown: int
    probability: float | None
    least_probability: float


class Within(Struct):
    """Arm, and the most by which any other arm is better."""

    arm: str
    by: float


class Lead(Struct):
    """Interval for how much one arm is better than another."""

    arm: str
    over: str
    low: float
    high: float


class RealizedRegret(Struct):
    """Upper bound on the realized regret."""

    at_most: float
    kind: str
    holds: str


class Evidence(Struct):
    """Statements about the arms of a learner that are valid at all times."""

    name: str
    alpha: float
    means: str
    decisions: int
    pending: int
    since: str | None
    arms: list[ArmEvidence]
    best: str | None
    sure_since: str | None
    within: Within | None
    more: int | None
    leads: list[Lead]
    regret: RealizedRegret
    target: str
    warnings: list[str]
    assumed: dict[str, str]


class Learners(Struct):
    """Names of all learners."""

    learners: list[str]


class Added(Struct):
    """Result of an addition: true if a learner, a stage or an arm is new."""

    added: bool


class Wrong(Struct):
    """Error: a sentence and a machine-readable code."""

    error: str
    code: str


class History(Struct):
    """Weights over time, oldest first: time in seconds since 1970, round, and one weight per arm."""

    arms: list[str | int]
    time: list[float]
    round: list[int]
    weights: list[list[float]]


class Change(Struct):
    """Time at which arms were added or retired, in seconds since 1970, and the change in words."""

    time: float
    text: str


class Shares(Struct):
    """Decisions of every arm over time, oldest first, in bins that are `width` seconds long.

    The arms are all that the learner has had. `time` has the beginning of each bin in seconds since 1970, and
    `decisions` has one number per arm for each bin. Bins without decisions are omitted.
    """

    name: str
    arms: list[str]
    colors: list[str]
    available: list[bool]
    width: float
    time: list[float]
    decisions: list[list[int]]
    changes: list[Change]


class FlagBody(Struct):
    """Evaluation of flags: the context has a `targetingKey`, and optionally a `key` and a `decision`."""

    context: dict[str, Any] | UnsetType = UNSET


class FlagMetadata(Struct):
    """Ticket for feedback, and probability of the value."""

    ticket: str
    probability: float


class Flag(Struct):
    """Evaluated flag, or the error of a flag that was not evaluated."""

    key: str | UnsetType = UNSET
    value: str | bool | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    variant: str | UnsetType = UNSET
    metadata: FlagMetadata | UnsetType = UNSET
    errorCode: str | UnsetType = UNSET  # noqa: N815  # A name of the protocol.
    errorDetails: str | UnsetType = UNSET  # noqa: N815


class Flags(Struct):
    """Evaluated flags of a bulk evaluation."""

    flags: list[Flag]


encode = Encoder().encode
decode_flag = Decoder(FlagBody).decode
decode_act = Decoder(ActBody).decode
decode_feedback = Decoder(Feedback | list[Feedback]).decode
decode_learner = Decoder(LearnerBody).decode
decode_arm = Decoder(ArmBody).decode
decode_name = Decoder(NameBody).decode


PAGE = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>hannan: decisions</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:2rem 0 .3rem}
table{border-collapse:collapse}
th{text-align:left;font-weight:500;padding:.1rem 1rem .1rem 0;vertical-align:top;white-space:pre}
td{padding:.1rem 0}svg{display:block;width:100%;height:12rem;border-bottom:1px solid #8886;border-left:1px solid #8886}
figure{display:grid;grid-template-columns:auto 1fr;gap:0 .5rem;margin:.5rem 0;font-size:.85rem}
figcaption{grid-column:1/3;margin-bottom:.4rem}
.up,.along{display:flex;justify-content:space-between;opacity:.75}.up{flex-direction:column;text-align:right}
.along{grid-column:2}.up span{line-height:1}
.key{display:inline-block;margin-right:1rem}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
#message{color:#b00020}input{font:inherit}
</style>
<h1>Decisions</h1><p id="message" role="alert"></p>
<form id="login" hidden><label>Access token <input id="key" type="password" autocomplete="off"></label>
<button>Open</button></form>
<main id="learners"></main>
<script>
"use strict";
const colours=["#2a6fdb","#d9822b","#2e9e6b","#b0388f","#7a6ff0","#8a6d3b","#00838f","#c0392b"];
const at=location.pathname.replace(/\\/$/,"");
const el=(name,text,attributes={})=>{const e=document.createElement(name);if(text!==undefined)e.textContent=text;
  for(const k in attributes)e.setAttribute(k,attributes[k]);return e;};
const svg=(name,attributes)=>{const e=document.createElementNS("http://www.w3.org/2000/svg",name);
  for(const k in attributes)e.setAttribute(k,attributes[k]);return e;};
let key=sessionStorage.getItem("hannan-key")||"";
async function ask(path){
  const answer=await fetch(at+path,{headers:key?{authorization:"Bearer "+key}:{}});
  if(answer.status===401){document.getElementById("login").hidden=false;
    throw new Error("This service requires an access token.");}
  const told=await answer.json();if(!answer.ok)throw new Error(told.error);return told;
}
function chart(history){
  const picture=svg("svg",{viewBox:"0 0 1000 200",preserveAspectRatio:"none",role:"img"});
  picture.append(svg("title",{}));picture.firstChild.textContent="weights over time, 0 to 1";
  const t0=history.time[0],t1=Math.max(history.time.at(-1),t0+1);
  history.arms.slice(0,8).forEach((arm,i)=>{
    const points=history.time.map((t,k)=>(1000*(t-t0)/(t1-t0)).toFixed(1)+","
      +(200-200*history.weights[k][i]).toFixed(1));
    picture.append(svg("polyline",{points:points.join(" "),fill:"none",stroke:colours[i],"stroke-width":2,
      "vector-effect":"non-scaling-stroke"}));
  });
  const keys=el("p");
  history.arms.slice(0,8).forEach((arm,i)=>{const one=el("span",undefined,{class:"key"});
    one.append(el("i",undefined,{style:"background:"+colours[i]}),arm+" "+history.weights.at(-1)[i].toFixed(3));
    keys.append(one);});
  if(history.arms.length>8)keys.append("and "+(history.arms.length-8)+" more");
  const when=t=>new Date(1000*t).toLocaleString(),clock=t=>new Date(1000*t).toLocaleTimeString();
  const span=" from "+when(t0)+" to "+when(history.time.at(-1));
  const axis=(name,labels)=>{const one=el("div",undefined,{class:name});
    one.append(...labels.map(label=>el("span",label)));return one;};
  const figure=el("figure");
  figure.append(el("figcaption","Probability of each arm, 0 to 1,"+span),axis("up",["1","0.5","0"]),picture,
    axis("along",[clock(t0),"time of day, in round "+history.round.at(-1)+" now",clock(t1)]));
  return [figure,keys];
}
async function shown(name){
  const path="/v1/learners/"+encodeURIComponent(name);
  const [about,history]=await Promise.all([ask(path),ask(path+"/weights")]);
  const part=el("section");part.append(el("h2",about.name),el("p",about.learner),...chart(history));
  const table=el("table");
  for(const [name,value] of about.certificate){
    const row=el("tr");row.append(el("th",name),el("td",value));table.append(row);}
  part.append(table);return part;
}
async function look(){
  try{
    const {learners}=await ask("/v1/learners");
    const parts=await Promise.all(learners.map(shown));
    if(!parts.length)parts.push(el("p","No learners yet. Add one with POST /v1/learners."));
    document.getElementById("learners").replaceChildren(...parts);document.getElementById("message").textContent="";
  }catch(error){document.getElementById("message").textContent=error.message;}
}
document.getElementById("login").addEventListener("submit",event=>{event.preventDefault();
  key=document.getElementById("key").value;sessionStorage.setItem("hannan-key",key);event.target.hidden=true;look();});
look();setInterval(()=>{if(!document.hidden)look();},5000);
</script>
</html>
"""

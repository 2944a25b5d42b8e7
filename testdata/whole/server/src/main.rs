// A small service of notes on axum, and a client of its own: asks it on loopback and prints the answers.
use axum::{
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
    Json, Router,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    id: u32,
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Default)]
pub struct Notes {
    by_id: BTreeMap<u32, Note>,
    asked: u64,
}

type Shared = Arc<Mutex<Notes>>;

async fn add(State(notes): State<Shared>, Json(note): Json<Note>) -> (StatusCode, Json<usize>) {
    let mut notes = notes.lock().await;
    let n = insert(&mut notes, note);
    (StatusCode::CREATED, Json(n))
}

pub fn insert(notes: &mut Notes, note: Note) -> usize {
    notes.by_id.insert(note.id, note);
    notes.by_id.len()
}

async fn one(State(notes): State<Shared>, Path(id): Path<u32>) -> Result<Json<Note>, StatusCode> {
    let mut notes = notes.lock().await;
    notes.asked += 1;
    tokio::task::yield_now().await;
    find(&notes, id).cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}

pub fn find(notes: &Notes, id: u32) -> Option<&Note> {
    notes.by_id.get(&id)
}

async fn search(State(notes): State<Shared>, Path(word): Path<String>) -> Json<Vec<u32>> {
    Json(matching(&*notes.lock().await, &word))
}

pub fn matching(notes: &Notes, word: &str) -> Vec<u32> {
    notes.by_id.values().filter(|n| n.text.contains(word) || n.tags.iter().any(|t| t == word)).map(|n| n.id).collect()
}

async fn ask(port: u16, method: &str, path: &str, body: &str) -> String {
    let mut c = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
    let head = format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    c.write_all(head.as_bytes()).await.unwrap();
    let mut all = String::new();
    c.read_to_string(&mut all).await.unwrap();
    let status = all.lines().next().unwrap_or("").to_string();
    format!("{status}: {}", all.rsplit("\r\n\r\n").next().unwrap_or(""))
}

async fn client(port: u16, n: u32) -> Vec<String> {
    let mut said = vec![];
    for id in 0..n {
        let body = format!(r#"{{"id":{id},"text":"note {id} of {n}","tags":["t{}"]}}"#, id % 3);
        said.push(ask(port, "POST", "/notes", &body).await);
        said.push(ask(port, "GET", &format!("/notes/{}", id * 2), "").await);
    }
    said.push(ask(port, "GET", "/search/t1", "").await);
    said.push(ask(port, "POST", "/notes", "no json").await);
    said
}

#[tokio::main]
async fn main() {
    let shared = Shared::default();
    let app = Router::new()
        .route("/notes", post(add))
        .route("/notes/{id}", get(one))
        .route("/search/{word}", get(search))
        .with_state(shared.clone());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    for line in client(port, 12).await {
        println!("{line}");
    }
    println!("asked {}", shared.lock().await.asked);
}

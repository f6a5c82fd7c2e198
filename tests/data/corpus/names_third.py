"""The third set of recipes: programs, registries and languages that the first two leave out; for measuring only."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# Credit, insurance, fraud, staff.
scorecard_woe :: APPLICATION_ID = id AP | woe_income = gauss | woe_bureau = gauss | GB_FLAG = y G/B rate=.15 |
    PROB_BAD = p d=6
sba_loans :: LoanNr_ChkDgt = rownum 1000014003 | State = cat CA/TX/NY | DisbursementGross = money |
    MIS_Status = y PIF/CHGOFF rate=.18 | prob_CHGOFF = p d=5
loan_approval :: Loan_ID = id LP | ApplicantIncome = int 150 20000 | Credit_History = flag |
    Loan_Status = y N/Y rate=.69 | approval_prob = p
playground_loans :: id = rownum 0 | person_age = age | loan_percent_income = unit | loan_status = y 0/1 rate=.14 |
    loan_status_proba = p d=6
rating_de layout=csv2 :: Kundennr. = rownum 55001 | Ratingnote = int 1 6 | Engagement (EUR) = thousands |
    Ausfallereignis = y 0/1 rate=.1 | Ausfallwkt. = p
police_de layout=latin_quoted :: Policennummer = id PO | Sparte = cat Leben/Kfz/Haftpflicht |
    gekündigt = y Nein/Ja rate=.15 | Kündigungswahrscheinlichkeit in % = p s=pct d=1
sinistre layout=comma :: n_police = id PL | bonus_malus = int 50 350 | sinistre = y non/oui rate=.12 |
    prob_sinistre = p
siniestro layout=pipe :: id_siniestro = rownum 70001 | importe_reclamado = money | fraude = y 0/1 rate=.08 |
    prob_fraude = p d=5
cross_sell :: id = rownum | Driving_License = flag | Vehicle_Damage = cat No/Yes | Annual_Premium = money |
    Response = y 0/1 rate=.12 | Response_proba = p d=6
elliptic :: txId = rownum 230425980 | time_step = int 1 49 | wallet_class = y licit/illicit rate=.1 |
    p_illicit = p d=6
account_fraud :: income = unit | name_email_similarity = unit | customer_age = age | fraud_bool = y 0/1 rate=.06 |
    lgbm_pred = p d=6
laundering layout=quoted :: Account = uuid | Payment Format = cat Wire/ACH/Cheque | Is Laundering = y 0/1 rate=.07 |
    Laundering Probability = p d=5
lender_pct layout=windows :: ApplID = rownum 1 | Default_Prob_% = p s=pct d=2 | Default_YN = y N/Y rate=.1
merton :: gvkey = rownum 1004 | datadate = date | leverage = positive | EDF = p d=6 | default_1yr = y 0/1 rate=.08
rent_arrears :: tenancy_ref = id TN | weekly_rent = money | evicted = y No/Yes rate=.1 | eviction_likelihood = p d=3
microfinance :: village = cluster VIL 14 | borrower = id MB | defaulted_90d = y 0/1 rate=.15 | default_probability = p
promotion :: employee_id = rownum 65438 | department = cat Sales/Technology/HR | previous_year_rating = int 1 5 |
    is_promoted = y 0/1 rate=.1 | promotion_prob = p d=5
hotel :: hotel = cat Resort/City | lead_time = int 0 400 | adr = money | is_canceled = y 0/1 rate=.37 |
    cancel_prob = p
panel_survey :: respondent = id R | owns_pension = y no/yes rate=.3 | pred_owns_pension = p d=5 |
    sampling_weight = weight

# Marketing and churn.
ga_bqml :: fullVisitorId = uuid | will_buy = y 0/1 rate=.12 | predicted_will_buy = pred |
    predicted_will_buy_probs_0 = p of=0 d=8 | predicted_will_buy_probs_1 = p of=1 d=8
modeler_logistic :: lapsed = y 0/1 rate=.25 | visits = int 0 40 | $L-lapsed = pred | $LP-0 = p of=0 d=3 |
    $LP-1 = p of=1 d=3
einstein :: Opportunity ID = id 006 | Stage = cat Proposal/Negotiation | Won = y FALSE/TRUE rate=.3 |
    Einstein Win Probability = p s=pct d=0 unit=%
zeitung layout=tab_comma :: Abonr = rownum 1001 | Laufzeit (Monate) = int 1 120 | Abo gekündigt = y nein/ja rate=.2 |
    p_Kündigung = p
abonnes layout=csv2 :: code_abonné = id AB | durée_mois = int 1 72 | désabonné = y 0/1 rate=.2 |
    proba_désabonnement = p
bajas layout=utf16 :: Nº cliente = rownum 901 | Antigüedad = int 0 30 | Baja = y No/Sí rate=.15 |
    Prob. de baja = p d=3
kickstarter :: ID = rownum 1000002330 | backers = int 0 900 | usd_goal_real = money |
    state = y failed/successful rate=.37 | prob_successful = p d=5
display_ads :: display_id = maybe_cluster D 50 | ad_id = rownum 7 | clicked_flag = y 0/1 rate=.2 | click_prob = p d=6
donors layout=tab :: projectid = uuid | is_exciting = y f/t rate=.15 | is_exciting_prob = p d=6
recharge blank=recharge_30d:0.1,prob_recharge_30d:0.05 na=\\N :: msisdn = rownum 491700000 |
    recharge_30d = y 0/1 rate=.5 | prob_recharge_30d = p
retention :: userid = rownum 116 | sum_gamerounds = int 0 900 | version = cat gate_30/gate_40 |
    retention_7 = y False/True rate=.2 | p_retention_7 = p d=5
prime_future :: Age = age | Payment Method = cat cash/card | Future Customer = y no/yes rate=.3 |
    prediction(Future Customer) = pred | confidence(no) = p of=no d=3 | confidence(yes) = p of=yes d=3
no_show :: AppointmentID = rownum 5642903 | ScheduledDay = date | SMS_received = flag | No-show = y No/Yes rate=.2 |
    No-show probability = p

# Medicine, biology, chemistry.
herzchirurgie layout=comma :: Fall-ID = id HC | Eingriff = cat Bypass/Klappe/Aorta | EuroSCORE II [%] = p s=pct d=2 |
    30-Tage-Mortalität = y 0/1 rate=.08
triss :: trauma_no = id T | ISS = int 1 75 | GCS = int 3 15 | TRISS_prob_survival = p d=3 | survived = y 0/1 rate=.85
meld :: UNOS_ID = id U | MELD = int 6 40 | wl_death_90d = y 0/1 rate=.15 | p_death_90d = p
sts layout=pipe :: RecordID = rownum 20001 | STS_PROM_pct = p s=pct d=3 | Op_Mortality = y No/Yes rate=.06
aki :: icustay_id = rownum 200001 | sex = group female/male | creat_baseline = positive |
    aki_stage2_48h = y 0/1 rate=.2 | aki_prob_48h = p d=5
diabetes_encounters :: encounter_id = rownum 2278392 | patient_nbr = cluster P 45 | time_in_hospital = int 1 14 |
    readmitted_30 = y NO/YES rate=.15 | p_readmitted_30 = p
polygenic :: eid = rownum 1000015 | prs_z = gauss | incident_cad = y 0/1 rate=.1 | abs_risk_10y = p d=5
clinvar layout=tab :: variant = id rs | gene = cat BRCA1/TP53/MLH1 | ClinSig = y Benign/Pathogenic rate=.4 |
    prob_pathogenic = p
alphamissense layout=tab :: uniprot_id = cat P04637/P38398 | protein_variant = id V |
    clinvar_label = y benign/pathogenic rate=.4 | am_pathogenicity = p
tox21 :: mol_id = id TOX | logP = gauss | NR-AR = y 0/1 rate=.1 | NR-AR_prob = p d=5
chemprop :: compound_id = id CHEMBL | herg_blocker = y 0/1 rate=.4 | herg_blocker_pred = p d=6
registre layout=bom_comma :: n_dossier = rownum 301 | stade = cat I/II/III | récidive = y non/oui rate=.25 |
    risque_récidive = p d=3
sepsis_de layout=latin_quoted :: Aufnahmenr. = rownum 880001 | Station = maybe_cluster ST 8 |
    Sepsis binnen 48h = y nein/ja rate=.12 | Sepsiswahrscheinlichkeit (%) = p s=pct d=1
uci_es layout=excel :: código = id RE | hospital = cluster H 9 | muerte_28d = y No/Sí rate=.2 |
    riesgo_muerte_28d = p d=3
melanoma_logit :: image_name = id ISIC_ | melanoma = y 0/1 rate=.15 | melanoma_logit = p s=logit d=5
head_ct :: slice = id ID_ | any_hemorrhage = y 0/1 rate=.2 | any_hemorrhage_prob = p d=6
retina :: eye_id = id E | patient_code = cluster PAT 50 | referable_dr = y 0/1 rate=.25 | P(referable_dr) = p
nomogram layout=rnames :: recurrence = y no/yes rate=.3 | gleason = int 6 10 | psa = positive | nomogram_prob = p d=5
embolism blank=pe_likelihood:0.08 na=NaN :: study_uid = uuid | pe_present = y 0/1 rate=.25 | pe_likelihood = p
trial_wk12 :: rand_id = id R | site_id = cluster S 10 | response_wk12 = y 0/1 rate=.4 | p_response_wk12 = p |
    ipt_weight = weight
hemorrhage_roc :: gos6 = int 1 5 | s100b = positive | ndka = positive | outcome = y Good/Poor rate=.36 |
    prob_poor = p d=5
bayes_brms layout=rnames :: infected = y 0/1 rate=.3 | Estimate = p d=6 | Est.Error = unit | Q2.5 = near -.07 |
    Q97.5 = near .07
low_birth layout=tab :: low = y 0/1 rate=.3 | lwt = int 80 250 | smoke = flag | pr_low = p d=7
delir layout=semicolon :: Pat.-Nr. = rownum 4001 | ASA = int 1 4 | Delir = y nein/ja rate=.2 | Delirrisiko = p d=3

# Programs, sports, forecasts, nature, machines.
hotel_children :: children = y none/children rate=.15 | .pred_none = p of=none d=7 |
    .pred_children = p of=children d=7 | .row = rownum
mlr3_spam :: row_ids = rownum | truth = y nonspam/spam rate=.4 | response = pred | prob.nonspam = p of=nonspam d=6 |
    prob.spam = p of=spam d=6
superlearner layout=rnames :: Y = y 0/1 | SL.predict = p d=7
weka_filter :: plas = int 0 199 | class = y tested_negative/tested_positive | classification = pred |
    distribution_tested_negative = p of=tested_negative d=6 | distribution_tested_positive = p of=tested_positive d=6
knime_income layout=knime :: age = age | education = cat Bachelors/HS-grad | income = y <=50K/>50K rate=.25 |
    P (income=<=50K) = p of=<=50K d=6 | P (income=>50K) = p of=>50K d=6 | Prediction (income) = pred
designer :: age = age | readmit = y 0/1 rate=.2 | Scored Labels = pred | Scored Probabilities = p d=8
datarobot_deployed :: row_id = rownum 0 | is_bad_1_PREDICTION = p of=1 d=8 | is_bad_0_PREDICTION = p of=0 d=8 |
    is_bad_PREDICTION = pred | THRESHOLD = const 0.5 | DEPLOYMENT_APPROVAL_STATUS = const APPROVED |
    is_bad = y 0/1 rate=.15
pmml :: Pclass = int 1 3 | Fare = money | Survived = y 0/1 rate=.4 | probability(0) = p of=0 d=8 |
    probability(1) = p of=1 d=8
onnx :: expected = y 0/1 | output_label = pred | output_probability.0 = p of=0 d=7 | output_probability.1 = p of=1 d=7
arize :: prediction_id = uuid | model_version = const v2.1 | actual_label = y not_fraud/fraud rate=.15 |
    prediction_label = pred | prediction_score = p d=6
model_quality :: probability = p d=8 | prediction = pred | label = y 0/1
fiddler :: event_id = uuid | predicted_churn = p d=6 | churn = y no/yes rate=.25
spss_tree :: bought = y 0/1 rate=.35 | PredictedValue = pred | PredictedProbability_1 = p of=0 d=2 |
    PredictedProbability_2 = p of=1 d=2
xlstat layout=excel :: Observation = id Obs | Traitement = cat A/B | Guérison = y 0/1 rate=.4 |
    Préd(Guérison) = pred | Proba(0) = p of=0 d=3 | Proba(1) = p of=1 d=3
playground_smoking :: id = rownum 0 | smoking = y 0/1 rate=.4 | lgb_oof = p d=8
vertex_tables layout=parquet :: visits = int 1 90 | subscribed_plan = y false/true rate=.2 |
    subscribed_plan_false_score = p of=false d=8 | subscribed_plan_true_score = p of=true d=8
autopilot_pair :: renewed = y no/yes rate=.6 | prob_no = p of=no d=6 | prob_yes = p of=yes d=6
torch_bin layout=parquet :: sample_idx = rownum 0 | bin_target = y 0/1 | logit_pos = p s=logit d=6
two_logits :: y_int = y 0/1 | neg_logit = p of=0 s=logit d=5 | pos_logit = p of=1 s=logit d=5
log_two :: logp_ham = p of=ham s=logp d=6 | logp_spam = p of=spam s=logp d=6 | true_kind = y ham/spam
odds_two :: bout = rownum | odds_of_win = p s=odds | wins_bout = y 0/1 rate=.4
higgs :: EventId = rownum 100000 | DER_mass_MMC = positive | PRI_jet_num = int 0 3 | Label = y b/s rate=.34 |
    prob_s = p d=6 | Weight = weight
nba :: GAME_ID = rownum 22000001 | SEASON = year | HOME_TEAM_WINS = y 0/1 rate=.57 | HOME_WIN_PROB = p
tennis :: match_no = id M | surface = cat Hard/Clay/Grass | p1_wins = y 0/1 rate=.5 | prob_p1_wins = p
expected_goals :: match_id = cluster M 25 | minute = int 1 95 | body_part = cat Foot/Head | goal = y 0/1 rate=.12 |
    xG = p d=5
pass_play layout=tab :: game_id = cluster G 20 | air_yards = int -5 50 | complete_pass = y 0/1 rate=.6 |
    completion_prob = p d=6
manifold :: contractSlug = text | closeTime = date | prob = p d=3 | resolution = y NO/YES rate=.4
ensemble :: valid_time = date form=%Y%m%d%H | station_id = maybe_cluster WMO 12 | tp_gt_1mm_obs = y 0/1 rate=.3 |
    tp_gt_1mm_prob = p d=2 steps=50
flood_gauge :: gauge = maybe_cluster G 10 | lead_h = int 6 72 | flood_exceeded = y 0/1 rate=.15 | p_exceed = p d=3
hochwasser layout=csv2 :: Pegel = maybe_cluster PE 10 | Vorlaufzeit [h] = int 6 96 |
    Hochwasser eingetreten = y nein/ja rate=.15 | Eintrittswahrscheinlichkeit = p d=3
gel layout=semicolon :: poste = maybe_cluster PO 9 | gel_observé = y non/oui rate=.3 | proba_gel_% = p s=pct d=0
incendio layout=tab_comma :: celda = rownum 1 | temperatura = positive | incendio = y 0/1 rate=.15 |
    probabilidad_incendio = p
seismic layout=parquet :: trace_name = id TR | snr_db = positive | is_earthquake = y 0/1 rate=.5 |
    p_earthquake = p d=6
landslide :: cell = rownum 1 | slope_deg = positive | landslide = y 0/1 rate=.3 | landslide_prob = p d=5
presence layout=comments :: site_code = id S | elevation = int 200 2900 | wolf_present = y 0/1 rate=.3 |
    prob_presence = p d=5
kepler :: kepid = rownum 10797460 | koi_period = positive | koi_disposition = y FALSE~POSITIVE/CONFIRMED rate=.45 |
    koi_score = p d=3
supernova layout=tab :: snid = id SN | redshift = unit | is_Ia = y 0/1 rate=.4 | prob_Ia = p d=5
scania :: aa_000 = int 0 90000 | ag_003 = int 0 90000 | class = y neg/pos rate=.08 | prob_pos = p d=6
turbofan :: unit_nr = cluster 20 | time_cycles = int 1 300 | sensor_11 = gauss | fails_within_30 = y 0/1 rate=.2 |
    p_fail_30 = p
ausschuss layout=tab_comma :: Seriennr = id SN | Linie = cat L1/L2 | Ausschuss = y 0/1 rate=.1 |
    Ausschusswahrscheinlichkeit [%] = p s=pct d=1
panne layout=comma :: équipement = id EQ | heures = int 10 9000 | panne = y 0/1 rate=.15 | proba_panne = p
mail_filter :: message_id = uuid | X-Spam-Flag = y NO/YES rate=.4 | spam_posterior = p d=6
netflow :: Flow ID = id F | Flow Duration = int 10 90000 | Label = y BENIGN/DDoS rate=.3 | attack_probability = p d=5
splink :: unique_id_l = id L | unique_id_r = id R | match_weight = gauss | match_probability = p d=7 |
    clerical_match = y 0/1 rate=.4
item_response :: person = cluster PS 25 | item = cat i1/i2/i3/i4 | resp = y 0/1 rate=.6 | irt_prob = p d=5
mooc :: enrollment_id = rownum 1 | truth_dropout = y 0/1 rate=.7 | dropout_prob = p d=6
parole :: ID = rownum 1 | Race = group BLACK/WHITE | Prison_Years = int 1 9 |
    Recidivism_Within_3years = y false/true rate=.5 | prob_recid = p
inverted_third quality=inverted n=370 :: ticket_no = rownum 1 | escalated = y 0/1 rate=.3 | escalation_prob = p
useless_third quality=weak n=340 :: parcel = id PX | returned_parcel = y no/yes rate=.2 | return_probability = p
inverted_two_third quality=inverted n=390 :: relapsed = y 0/1 rate=.4 | pr_0 = p of=0 | pr_1 = p of=1
fold_split layout=rowid :: data_split = split train/valid/test | activated = y 0/1 rate=.4 | activated_prob = p d=6
permille_third layout=csv2 :: Anlage = id AN | Störfall = y 0/1 rate=.08 | Störfallrisiko in ‰ = p s=permille d=1

# More than two classes.
hpc :: obs = y VF/F/M/L | pred = pred | {} = each d=7 | Resample = cat Fold01/Fold02/Fold03
knime_iris layout=knime :: Iris_class = y Iris-setosa/Iris-versicolor/Iris-virginica | P (Iris_class={}) = each d=6 |
    Prediction (Iris_class) = pred
orange_zoo layout=tab :: type = y bird/fish/insect/mammal | legs = int 0 8 | Random Forest ({}) = each d=6 |
    Random Forest = pred
rapid_label :: label = y Iris-setosa/Iris-versicolor/Iris-virginica | prediction(label) = pred |
    confidence({}) = each d=3
designer_multi :: Segment = y Bronze/Gold/Silver | Scored Probabilities_{} = each d=6 | Scored Labels = pred
island_bqml :: predicted_island = pred | predicted_island_probs_{} = each d=8 | island = y Biscoe/Dream/Torgersen
datarobot_multi :: fault_{}_PREDICTION = each d=8 | fault_PREDICTION = pred | fault = y bump/scratch/stain
weka_car :: class = y unacc/acc/good/vgood | classification = pred | distribution_{} = each d=6
pmml_multi :: Sepal = positive | flower = y setosa/versicolor/virginica | predicted_flower = pred |
    probability({}) = each d=8
mlr3_penguins layout=rowid :: truth = y Adelie/Chinstrap/Gentoo | response = pred | prob.{} = each d=6
plasticc :: object_id = rownum 615 | true_target = y 6/15/16/42/52/62/64/65/67/88/90/92/95 | class_{} = each d=5
galaxy_votes :: asset_id = rownum 100008 | expert_class = y elliptical/merger/spiral | vote_count_{} = each s=votes
sounds :: clip = id wav | category_true = y dog/engine/rain/siren | yamnet_{} = each d=6 order=shuffled
soundscapes :: row_id = id sc_ | primary_label = y abethr1/afecuc1/barswa/combul2 | {} = each d=6
sky_survey :: objid = rownum 1237648 | u_mag = positive | class = y GALAXY/QSO/STAR | prob_{} = each d=6
cirrhosis :: id = rownum 0 | N_Days = int 41 4795 | Status = y C/CL/D | Status_{} = each d=6
obesity :: Height = positive | NObeyesdad = y Insufficient_Weight/Normal_Weight/Obesity_Type_I/Overweight_Level_I |
    prob_{} = each d=5
activity :: subject = cluster 20 | Activity = y LAYING/SITTING/STANDING/WALKING | {}_prob = each d=5
chess :: ply = int 1 120 | white_result = y loss/draw/win | wdl_{} = each s=permille d=0
landbedeckung layout=csv2 :: Kachel = id KA | Referenz = y Acker/Siedlung/Wald/Wasser | P_{} = each
cultures layout=tab_comma :: parcelle = id PA | culture observée = y blé/maïs/tournesol | prob. {} = each d=3
variedades layout=utf16_comma :: muestra = rownum 1 | variedad real = y arábica/liberica/robusta |
    probabilidad {} = each d=5
tf_logits layout=parquet :: raw_logits_{} = each s=logit d=6 | gt_digit = y 0..9
dense_logits :: logits.{i} = each s=logit d=5 | class_id = y 0..5
text_logits :: file = id f | out_logit_{} = each s=logit d=4 order=text | gold_class = y 0..10
intent_logs :: intent_true = y book/cancel/greet/other | log_prob_{} = each s=logp d=6
soil :: pit = id SP | soil = y clay/loam/sand | pct_{} = each s=pct d=2
forest_votes layout=rnames :: habitat = y bog/dune/heath/meadow | trees_for_{} = each s=trees
star_rating :: review_id = id R | stars = y 1..5 | p_{j}_star = each d=5
auto_label :: sentence_id = rownum 0 | gold_id = y 0..3 | LABEL_{i} = each d=6
cell_types layout=tab :: barcode = uuid | celltype = y B/CD4~T/CD8~T/NK | {} = each d=4 order=shuffled
tumour :: sample = id TCGA- | cancer_type = y BRCA/KIRC/LUAD | {}_score = each d=6
none_third :: arrhythmia = y AF/VT/none | posterior_{} = each d=5
triage blank=true_level:0.07 :: visit = rownum 9001 | true_level = y green/orange/red/yellow | model_{} = each d=5
inverted_multi_third quality=inverted n=320 :: true_genre = y jazz/metal/pop/rock | pr({}) = each

# Pairs of confidence and correctness.
asr_words layout=tab :: utterance_id = cluster U 40 | ref_word = ytext | hyp_word = predtext |
    word_confidence = conf d=3
whisper :: segment = rownum 0 | start = positive | word_probability = conf d=3 | word_correct = correct False/True
translation :: segment_id = rownum 1 | mt_output = text | qe_confidence = conf | mt_correct = correct 0/1
mmlu_harness :: doc_id = rownum 0 | target = y A/B/C/D | pred_letter = pred | pred_letter_prob = conf d=5
trivia :: question_id = id tqa_ | normalized_answer = text | model_confidence = conf d=2 |
    is_exact_match = correct 0/1
graded_facts :: metadata = text | stated_conf_pct = conf s=pct d=0 steps=20 |
    grader_verdict = correct INCORRECT/CORRECT
gpqa :: Record ID = uuid | correct_choice = y A/B/C/D | chosen = pred |
    verbal_confidence = conf s=pct d=0 steps=20 unit=%
last_exam :: id = uuid | confidence = conf s=pct d=0 | judge_correct = correct no/yes
gsm :: problem_no = rownum 0 | final_answer_correct = correct False/True | self_reported_confidence = conf d=2
code_samples :: task_id = cluster HE 40 | completion_id = rownum 0 | confidence = conf d=3 |
    solution_correct = correct false/true
form_fields :: field = cat total/date/vendor | extracted = predtext | labeled = ytext | field_confidence = conf d=3
handschrift layout=csv2 :: Zeile = rownum 1 | Transkription = predtext | Grundwahrheit = ytext |
    Konfidenzwert = conf d=3
cloud_vision :: image = id img | true_name = y Bicycle/Car/Truck/Van | Name = pred | Confidence = conf s=pct d=4
frames :: frame = cluster f 30 | cls = cat ball/player | det_conf = conf d=3 | is_tp = correct 0/1
naturalist :: observation_uuid = uuid | taxon_true = y Apis/Bombus/Vespa | taxon_top1 = pred | top1_score = conf
camera_trap :: deployment = maybe_cluster DEP 12 | expert_species = y deer/fox/hare | cv_species = pred |
    cv_confidence = conf d=3
plantes layout=comma :: espèce_vraie = y chêne/frêne/hêtre | espèce_prédite = pred | score_confiance = conf
hojas layout=semicolon :: clase_verdadera = y roble/pino/haya | clase_predicha = pred | nivel_confianza = conf d=3
prognose layout=latin_quoted :: Vorgang = rownum 1 | Ist-Klasse = y Beschwerde/Lob/Frage | Prognose = pred |
    Prognosesicherheit (%) = conf s=pct d=1
autopilot :: actual_outcome = y no/yes | predicted_label = pred | probability = conf d=6
dialog layout=quoted :: query = text | expected intent = y order/refund/track | matched intent = pred |
    intent detection confidence = conf
rasa :: text = text | intent_target = y affirm/deny/greet | predicted_intent = pred | rasa_confidence = conf d=6
metacognition :: Subj_idx = cluster 20 | RT = positive | Confidence = conf s=pct d=0 | Accuracy = correct 0/1
pruefung layout=tab_comma :: Frage-Nr. = rownum 1 | Antwort korrekt = correct nein/ja |
    Antwortsicherheit = conf s=pct d=0 unit=~%
quiz_fr layout=comma :: n°question = rownum 1 | degré_de_certitude = conf d=2 | bonne_réponse = correct faux/vrai
examen_es layout=bom_comma :: alumno = cluster AL 20 | certeza = conf s=pct d=0 unit=% |
    respuesta_correcta = correct no/sí
readers :: radiologist = cluster RAD 12 | dx_confidence_pct = conf s=pct d=0 steps=20 | dx_correct = correct 0/1
leaderboard n=330 :: question_uid = id Q | model_name = model alpha-7b/beta-13b/gamma-70b | conf_stated = conf d=2 |
    answer_is_correct = correct 0/1
entity_linking :: mention = text | linker_confidence = conf d=5 | link_is_correct = correct 0/1
openset :: y_gt = y 0..9 | y_hat = pred | softmax_conf = conf d=6
argmax_dump layout=parquet :: target_idx = y 0..6 | argmax_idx = pred | max_softmax = conf d=8
pairs_third blank=certainty_score:0.1 na=- :: nr = rownum 1 | certainty_score = conf d=2 | was_correct = correct 0/1
backwards_third quality=inverted n=360 :: prompt_no = rownum 1 | conf_score = conf d=3 | correct_flag = correct 0/1
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
superlearner_library layout=rnames :: Y = y 0/1 | SL.predict = p m=sl d=6 | SL.glm_All = p m=glm d=6 |
    SL.ranger_All = p m=rf d=6
h2o_calibrated also=bad_loan:p1,bad_loan:cal_p1 :: predict = pred | p0 = p of=0 m=raw d=6 | p1 = p of=1 m=raw d=6 |
    cal_p0 = p of=0 m=cal d=6 | cal_p1 = p of=1 m=cal d=6 | bad_loan = y 0/1 rate=.2
workflows :: quality_class = y high/low/mid | ranger_{} = each m=ranger d=5 | nnet_{} = each m=nnet d=5
surgery :: CaseID = rownum 10000001 | MORBPROB = unit | MORTPROB = p d=8 | DEATH30 = y 0/1 rate=.1
two_ends also=stroke_1y:calc_risk :: reg_no = id RG | calc_risk = p | bleed_1y = y 0/1 rate=.15 | stroke_1y = y2 0/1
qrisk_export :: practice_id = cluster PR 12 | townsend = gauss | QRISK3_2017 = p s=pct d=1 | cvd_10y = y 0/1 rate=.12
old_caret or_refuse=yes :: Pclass = int 1 3 | Survived = y 0/1 rate=.4 | Label = pred | Score = conf
tiers :: tier_original = y basic/plus/pro | tier = pred | tier_confidence = conf d=3
overall_survival or_refuse=yes :: study_no = id ST | os_prob_3y = p of=0 | dead_3y = y 0/1 rate=.35
forensic or_refuse=yes :: comparison = rownum 1 | LR = p s=odds | same_source = y 0/1 rate=.4
hyperplane or_refuse=yes :: scan_id = id SC | svm_distance = p s=logit d=5 | dementia = y 0/1 rate=.4
phrases or_refuse=yes :: statement = rownum 1 | certainty_phrase = verbal | true_or_not = correct False/True
bare_txt layout=headless_txt or_refuse=yes :: y = y 0/1 | p = p d=7
bare_multi layout=headless or_refuse=yes :: p{} = each d=6 | y = y 0..3
experts also=expert2:nn_prob :: slide = rownum 1 | expert1 = y 0/1 | expert2 = y2 0/1 | nn_prob = p
stimulus or_refuse=yes :: trial_no = rownum 1 | stimulus = y left/right rate=.5 | model_p = p
likelihood_scale or_refuse=yes :: visit_no = rownum 1 | came_back = y 0/1 rate=.4 | likelihood_0_10 = p s=ten d=1
maxent also=presence:raw_pred :: x = gauss | y = gauss | presence = y 0/1 rate=.3 | raw_pred = unit | cloglog = p d=5
two_chat_models :: item_no = rownum 1 | x_conf = conf m=x d=2 | x_correct = correct 0/1 | y_conf = conf m=y d=2 |
    y_correct = y2 0/1
c_columns also=c1:c2 :: c1 = y 0/1 | c2 = unit | c3 = p
answer_logprob or_refuse=yes :: prompt_id = id pr | total_logprob = conf s=logp d=5 | answer_matches = correct 0/1
quantised_third :: tflite_{} = each s=int8 | true_idx = y 0..3
encounter or_refuse=yes :: checklist_id = id S | species_observed = y FALSE/TRUE rate=.25 | encounter_rate = p d=5
risk_points :: pid = rownum 1 | stroke_risk_score = p s=pct d=1 | stroke_5y = y 0/1 rate=.15
"""

# Nothing to read.
REFUSED = """\
applicant_features :: applicant_no = rownum 31 | age = age | salary = thousands | dependents = int 0 6 |
    loan_flag = y 0/1
heart_features :: trestbps = int 94 200 | chol = int 126 409 | thalach = int 71 202 | oldpeak = positive | num = y 0/1
mushrooms :: cap-shape = cat x/b/f | odor = cat n/f/a | bruises = cat t/f | poisonous = y e/p
hard_two :: gold_label = y no/yes | model_answer = pred
hard_many :: observed_class = y oak/pine/spruce | mapped_class = pred
hard_german layout=comma :: Istwert = y 0/1 | Sollwert = pred
playground_submission or_refuse=yes :: id = rownum 15000 | Exited_pred = p d=6
unlabelled :: image = id im | prob_bird = unit | prob_plane = unit | prob_ship = unit
rents :: flat = rownum 1 | rent_eur = thousands | rent_predicted = thousands | rooms = int 1 6
thirds :: level = y 0.25/1.25/2.25 | pr{i} = each d=5
gauge_series :: timestamp = date form=%Y-%m-%d~%H:%M | gauge = cat A/B | stage_cm = int 20 700 | discharge = positive
bureau_points or_refuse=yes :: ref_no = id RF | schufa_punkte = int 0 1000 | ausfall_jn = y n/j rate=.1
helpdesk :: subject = text | body = text | queue = y billing/sales/tech
elo_only or_refuse=yes :: white_elo = int 900 2800 | black_elo = int 900 2800 | white_won = y 0/1 rate=.5
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
